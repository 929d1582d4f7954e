"""Lines that are native code and lines that are not, each marked with what it is.

usage: kinds.py [SECONDS]        so much CPU time for each
"""
import hashlib
import sys
import time
import zlib

try:
    import numpy
except ImportError:
    numpy = None


def until(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        yield


def hashes(seconds, data=bytes(400_000)):
    for _ in until(seconds):
        hashlib.sha256(data).digest()  # native


def compresses(seconds, data=bytes(range(256)) * 200):
    for _ in until(seconds):
        zlib.compress(data, 6)  # native


def sorts(seconds, data=[(i * 7919) % 10007 for i in range(10_000)]):
    for _ in until(seconds):
        sorted(data)  # native


def multiplies(seconds):
    values = numpy.arange(40_000, dtype=float)
    for _ in until(seconds):
        numpy.sqrt(values, out=values)  # native


def counts(seconds):
    total = 0
    for _ in until(seconds):
        for i in range(20_000):  # pure
            total += i & 7  # pure
    return total


def calls(seconds):
    def inner(n):
        return n + 1  # pure

    total = 0
    for _ in until(seconds):
        for i in range(10_000):  # pure
            total = inner(total) & 0xFF  # pure
    return total


def main(seconds):
    for work in hashes, compresses, sorts, counts, calls:
        work(seconds)
    if numpy:
        multiplies(seconds)


main(float(sys.argv[1]) if len(sys.argv) > 1 else 1.0)
