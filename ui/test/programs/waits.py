"""Waiting on the wall clock: sleep, a lock, a queue, and some work between."""

import queue
import threading
import time

lock = threading.Lock()
jobs = queue.Queue()


def sleeps():
    time.sleep(0.15)


def holds():
    with lock:
        time.sleep(0.2)


def wants():
    time.sleep(0.02)
    with lock:
        pass


def takes():
    while jobs.get() is not None:
        sum(i * i for i in range(30000))


threads = [threading.Thread(target=work, name=work.__name__) for work in (sleeps, holds, wants, takes)]
for thread in threads:
    thread.start()
for number in range(8):
    time.sleep(0.02)
    jobs.put(number)
jobs.put(None)
for thread in threads:
    thread.join()
