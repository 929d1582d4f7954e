"""Threads that wait for one lock, again and again, and for no other.

usage: one_lock.py
"""
import threading
import time

TURNS = 4
THREADS = 3
lock = threading.Lock()


def waits():
    for _ in range(TURNS):
        lock.acquire()  # waits


lock.acquire()
threads = [threading.Thread(target=waits) for _ in range(THREADS)]
for thread in threads:
    thread.start()
for _ in range(TURNS * THREADS):
    time.sleep(0.06)
    lock.release()
for thread in threads:
    thread.join()
