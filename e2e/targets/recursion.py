"""Recursion fifty thousand deep, in a thread that has room for it, and one too deep for Python."""
import sys
import threading
import time


def burn(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        for i in range(500):
            pass


def goes_down(n):
    if n == 0:
        burn(0.4)
        return 0
    return goes_down(n - 1) + 1


def endless(n):
    return endless(n + 1)


def too_deep():
    for _ in range(20):
        try:
            endless(0)
        except RecursionError as error:
            message = str(error)
    print(message)


def main():
    too_deep()
    sys.setrecursionlimit(60000)
    threading.stack_size(512 << 20)
    found = []
    thread = threading.Thread(target=lambda: found.append(goes_down(50000)))
    thread.start()
    thread.join()
    print(found)


main()
