"""Works, waits and allocates until its input ends it."""

import select
import sys

kept = []


def works():
    return sum(i * i for i in range(20000))


def keeps():
    kept.append(bytearray(300000))


while not select.select([sys.stdin], [], [], 0.002)[0]:
    works()
    keeps()
