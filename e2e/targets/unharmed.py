"""A program that allocates and computes for as many milliseconds as its argument says, whatever
befalls its profiler, and ends with code 7."""

import os
import sys
import time


def work_steadily(turns):
    total = 0
    for turn in range(turns):
        total = (total * 1664525 + turn) & 0xFFFFFFFF
    return total


def main():
    end = time.monotonic() + float(sys.argv[1]) / 1e3
    kept = [None] * 64
    turn = 0
    os.write(1, b"begun\n")
    while time.monotonic() < end:
        work_steadily(1000)
        kept[turn % 64] = [turn] * (turn % 100)
        turn += 1
    os.write(1, b"done\n")


main()
sys.exit(7)
