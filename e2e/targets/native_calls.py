"""C calls Python calls C: keys of sorts, callbacks by ctypes, compiled expressions, functions
that the interpreter never sees at work because they hold no frame."""
import ctypes
import functools
import json
import re
import time
import zlib

DATA = json.dumps(list(range(3000))).encode()


def until(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        yield


def compresses():
    for _ in until(0.3):
        zlib.compress(DATA, 9)


def key_of(value):
    total = 0
    for i in range(20):
        total += i
    return -value


def sorts_with_key():
    for _ in until(0.2):
        sorted(range(300), key=key_of)


CALLBACK = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_int), ctypes.POINTER(ctypes.c_int))


@CALLBACK
def compare_by_ctypes(a, b):
    return (a[0] > b[0]) - (a[0] < b[0])


def qsorts():
    libc = ctypes.CDLL(None)
    values = (ctypes.c_int * 200)(*[(i * 7919) % 1009 for i in range(200)])
    for _ in until(0.2):
        libc.qsort(values, len(values), ctypes.sizeof(ctypes.c_int), compare_by_ctypes)


def matches():
    pattern = re.compile(r"(a+)+$")
    for _ in until(0.2):
        pattern.match("a" * 12 + "b")


@functools.lru_cache(maxsize=16)
def cached(n):
    return sum(range(n))


def pure_loop():
    n = 0
    for _ in until(0.3):
        for i in range(100):
            n += i & 3
    return n


compresses()
sorts_with_key()
qsorts()
matches()
pure_loop()
cached(100)
print("all called")
