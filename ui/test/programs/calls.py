"""Calls and lines in known numbers."""

import sys


def leaf(n):
    return n + 1


def middle(n):
    total = 0
    for i in range(n):
        total += leaf(i)
    return total


def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)


def main():
    for _ in range(30):
        middle(20 if sys.argv[1:] != ["more"] else 40)
    fib(12)


main()
