"""A thread hangs on a lock for good, others sleep and read: they still wait when recording stops.

usage: hangs.py [SECONDS]
"""
import os
import sys
import threading
import time

SECONDS = float(sys.argv[1]) if len(sys.argv) > 1 else 2.0
lock = threading.Lock()


def hangs():
    lock.acquire()  # hangs


def reads(reader):
    os.read(reader, 1)  # reads


def pumps():
    while True:
        time.sleep(0.003)  # pumps


lock.acquire()
reader, writer = os.pipe()
for function, arguments in [(hangs, ()), (reads, (reader,)), (pumps, ())]:
    threading.Thread(target=function, args=arguments, daemon=True).start()
print("begun", flush=True)
time.sleep(SECONDS)  # main
