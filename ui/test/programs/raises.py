"""Exceptions in known numbers: caught at once, caught by a caller, and one that leaves a thread."""

import threading


def often():
    caught = 0
    for number in range(40):
        try:
            int("x" if number % 2 else "1")
        except ValueError:
            caught += 1
    return caught


def inner(key):
    return {}[key]


def outer():
    try:
        inner("missing")
    except KeyError:
        pass


def leaves():
    raise RuntimeError("leaves the thread")


threading.excepthook = lambda _: None
often()
for _ in range(5):
    outer()
thread = threading.Thread(target=leaves)
thread.start()
thread.join()
