"""A function that numba compiles, called by another one of those."""
import time

import numba


@numba.njit(debug=True)
def compiled_sum(n):
    total = 0.0
    for i in range(n):
        total += (i % 7) ** 0.5
    return total


@numba.njit(debug=True)
def compiled_outer(n):
    total = 0.0
    for i in range(n):
        total += compiled_sum(i + 1000)
    return total


def main():
    compiled_outer(1)
    end = time.thread_time() + 1
    while time.thread_time() < end:
        compiled_outer(100)


main()
print("done")
