"""Keeps as many sessions as its input asks for, and prints how many blocks its interpreter has in use."""
import gc
import sys

gc.disable()


class Session:
    def __init__(self, number):
        self.number = 100_000 + number
        self.words = ["secret of a session"] * 3


class Ring:
    pass


SESSIONS = {}
KEPT = [[] for _ in range(20_000)]


def begin(count):
    first = len(SESSIONS)
    for number in range(first, first + count):
        SESSIONS["session %d" % number] = Session(number)


for _ in range(500):
    one = Ring()
    one.itself = one
del one

print("begun", flush=True)
for line in sys.stdin:
    begin(int(line))
    print(len(SESSIONS), sys.getallocatedblocks(), flush=True)
