"""What a profiler takes from a thread, seen from that thread: below a few Python frames and
native ones it reads the cycle counter and sums up the gaps.

usage: gaps.py LIBRARY [SECONDS]      LIBRARY is gaps.c, compiled with `cc -O2 -shared -fPIC`

Prints the part of the time that was lost in gaps, and the gaps a second.
"""
import ctypes
import os
import sys
import time

library = ctypes.CDLL(os.path.abspath(sys.argv[1]))
library.spin.restype = ctypes.c_uint64
library.spin.argtypes = [ctypes.c_uint64, ctypes.POINTER(ctypes.c_uint64)]


def spin(cycles):
    gaps = ctypes.c_uint64()
    before = time.monotonic()
    lost = library.spin(cycles, ctypes.byref(gaps))
    return lost / cycles, gaps.value / (time.monotonic() - before)


def below(depth, cycles):
    """As many Python frames as a program has in its loops."""
    if depth:
        return below(depth - 1, cycles)
    return max([spin(cycles)])


def main(seconds):
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    before = time.monotonic()
    spin(200_000_000)
    rate = 200_000_000 / (time.monotonic() - before)
    lost, gaps = below(6, int(seconds * rate))
    print(f"lost={lost}")
    print(f"gaps={gaps}")


main(float(sys.argv[2]) if len(sys.argv) > 2 else 5.0)
