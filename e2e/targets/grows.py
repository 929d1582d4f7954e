"""Memory that grows by known amounts: 64 MiB that stay, 128 MiB for a moment, and a child that shares them and
has 32 MiB of its own.

usage: grows.py
"""
import os
import time

MIB = 1 << 20

kept = []
for _ in range(16):
    kept.append(bytearray(4 * MIB))
    time.sleep(0.05)
large = bytearray(128 * MIB)
time.sleep(0.4)
del large
time.sleep(0.4)
child = os.fork()
if child == 0:
    own = bytearray(32 * MIB)
    # What it shares is looked at seldom, as that takes long.
    time.sleep(3)
    os._exit(0)
os.waitpid(child, 0)
# What it keeps is there to the end.
os._exit(0)
