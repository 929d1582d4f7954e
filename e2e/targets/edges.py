"""Functions that call each other in known ways and in turn, some of them through C: `edges.py SECONDS`."""

import sys
import time


def spin(count):
    value = 1
    for number in range(count):
        value = value * 3 + number & 0xFFFF
    return value


def left_inner(count):
    return spin(count) + 1


def left(count):
    return left_inner(count) + 1


def right(count):
    return spin(count) + 1


def recurse(depth, count):
    if depth == 0:
        return spin(count)
    return recurse(depth - 1, count) + 1


def key(number):
    return -number


def sorts(count):
    return sorted(range(count), key=key)[0]


def numbers(count):
    for number in range(count):
        yield number * number % 7


def adds(count):
    return sum(numbers(count))


end = time.monotonic() + float(sys.argv[1])
while time.monotonic() < end:
    left(30000)
    right(20000)
    recurse(30, 15000)
    sorts(20000)
    adds(20000)
