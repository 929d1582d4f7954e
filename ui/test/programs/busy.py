"""CPU time in functions that call one another, on two threads, with recursion."""

import sys
import threading


def squares(n):
    return sum(i * i for i in range(n))


def parse(rounds):
    total = 0
    for _ in range(rounds):
        total += squares(300)
    return total


def walk(depth):
    if depth == 0:
        return 0
    return parse(60) + walk(depth - 1)


def helper():
    for _ in range(12):
        walk(6)


def text(rounds):
    return len(",".join(str(i) for i in range(rounds)))


def added(rounds):
    total = 0
    for i in range(rounds):
        total += i * i
    return total


def main():
    thread = threading.Thread(target=helper, name="helper")
    thread.start()
    parse(5000)
    if sys.argv[1:] == ["more"]:
        added(4000000)
    for _ in range(8):
        text(20000)
    thread.join()


main()
