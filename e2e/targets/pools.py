"""Threads of a pool that have nothing to do, threads that wait for locks, and one that waits in a library for its own program.

usage: pools.py
"""
import concurrent.futures
import socket
import threading
import time

PAUSE = 1.0


def holds(lock):
    with lock:
        time.sleep(PAUSE)  # holds


def waits_for_one(lock):
    lock.acquire()  # one lock each
    lock.release()


def fetches(end):
    end.makefile("rb").readline()  # fetches


pool = concurrent.futures.ThreadPoolExecutor(6)
begun = threading.Barrier(7)
for _ in range(6):
    pool.submit(begun.wait)
begun.wait()
locks = [threading.Lock() for _ in range(3)]
threads = [threading.Thread(target=holds, args=(lock,)) for lock in locks]
threads += [threading.Thread(target=waits_for_one, args=(lock,)) for lock in locks]
left, right = socket.socketpair()
threads.append(threading.Thread(target=fetches, args=(left,)))
for number, thread in enumerate(threads):
    thread.start()
    if number == 2:
        time.sleep(0.05)
time.sleep(PAUSE)
right.send(b"line\n")
for thread in threads:
    thread.join()
