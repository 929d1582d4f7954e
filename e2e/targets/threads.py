"""Threads with names that share the interpreter's lock, threads that do not need it, a daemon
thread that is at work when the program ends, a thread that fails, timers and locals."""
import hashlib
import sys
import threading
import time

DATA = bytes(200000)


def burn(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        for i in range(500):
            pass


def alpha():
    burn(0.3)


def beta():
    burn(0.3)


def hashes():
    end = time.thread_time() + 0.3
    while time.thread_time() < end:
        hashlib.sha256(DATA).digest()


def forever():
    while True:
        burn(0.002)


def fails():
    raise KeyError("in a thread")


def many():
    found = []
    for _ in range(100):
        thread = threading.Thread(target=found.append, args=(1,))
        thread.start()
        thread.join()
    print(len(found))


if __name__ == "__main__":
    sys.setswitchinterval(0.001)
    threading.excepthook = lambda args: print(args.exc_type.__name__, args.exc_value)
    threads = [threading.Thread(target=f, name=f.__name__) for f in (alpha, beta, hashes, fails)]
    threading.Thread(target=forever, daemon=True, name="forever").start()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    many()
    timer = threading.Timer(0.05, print, args=("timer",))
    timer.start()
    timer.join()
    print(threading.active_count(), sorted(t.name for t in threading.enumerate()))
