"""Functions that recurse, and that are never called: for the messages on them."""
import sys


def down(depth):
    if depth:
        return down(depth - 1)
    return 0


def never(number):
    if number:
        return 1
    return 2


class Kept:
    def one(self, kind):
        if kind:
            return 'unseen'
        return self

    def unused(self):
        return 3


sys.setrecursionlimit(20000)
depth = int(sys.argv[1]) if len(sys.argv) > 1 else 10
down(depth)
Kept().one(0)
