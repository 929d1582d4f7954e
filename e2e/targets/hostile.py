"""A program that rewrites its own code objects, while they run and are sampled: tables of lines,
names and lengths. It ends with code 7, without a look at what it has broken."""

import ctypes
import os
import random
import sys
import threading
import time

WORD = ctypes.sizeof(ctypes.c_ssize_t)
LENGTHS = [0, 1, -1, 2**31 - 1, 2**31, 2**63 - 1, -(2**63), 2**40]


def names_in_spite(seconds):
    end = time.monotonic() + seconds
    total = 0
    while time.monotonic() < end:
        for i in range(2000):
            total += i
    return total


def length_of(thing):
    """The length that an object says it has, which is the third word of texts and bytes."""
    return ctypes.c_ssize_t.from_address(id(thing) + 2 * WORD)


def rewrite(code):
    table = getattr(code, "co_linetable", None) or code.co_lnotab
    start = id(table) + sys.getsizeof(table) - len(table) - 1
    size = len(table)
    lengths = [length_of(thing) for thing in (table, code.co_name, code.co_filename)]
    # Bytes that are in no other object.
    for at in range(size):
        ctypes.c_ubyte.from_address(start + at).value = random.randrange(256)
    before = [length.value for length in lengths]
    for length in lengths:
        length.value = random.choice(LENGTHS)
    time.sleep(0.02)
    for length, value in zip(lengths, before):
        length.value = value


def rewrite_again_and_again(code):
    while True:
        rewrite(code)
        time.sleep(0.005)


threading.Thread(
    target=rewrite_again_and_again, args=(names_in_spite.__code__,), daemon=True
).start()
names_in_spite(0.6)
os.write(1, b"worked in spite\n")
os._exit(7)
