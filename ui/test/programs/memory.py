"""Memory that is kept, freed at once, and freed late."""

import sys

kept = []


def keep(count):
    for number in range(count):
        kept.append(bytearray(4000 + number))


def churn(count):
    for _ in range(count):
        bytearray(20000)


def late(count):
    blocks = [bytes(10000) for _ in range(count)]
    return sum(map(len, blocks))


keep(400 if sys.argv[1:] != ["more"] else 1200)
churn(400)
late(300)
