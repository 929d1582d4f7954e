"""Recursion fifty thousand deep, or as deep as the first argument says, in a thread that has room for it, and one too
deep for Python."""
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
    depth = int(sys.argv[1]) if len(sys.argv) > 1 else 50000
    found = []
    thread = threading.Thread(target=lambda: found.append(goes_down(depth)))
    thread.start()
    thread.join()
    print(found)


main()
