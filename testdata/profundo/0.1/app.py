"""A program that works, waits, allocates and calls: a recording of each is saved."""
import time


def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)


def nap():
    time.sleep(0.05)


def keep(blocks):
    for size in range(64):
        blocks.append(bytearray(1000 + size))


def main():
    blocks = []
    for _ in range(3):
        fib(25)
        keep(blocks)
        nap()
    print(len(blocks))


if __name__ == "__main__":
    main()
