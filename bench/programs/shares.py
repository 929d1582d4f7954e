"""Four functions that take 50, 30, 15 and 5 parts in a hundred of the CPU time.

usage: shares.py python|native|pieces|threads [SECONDS]        so much CPU time

The parts are what is aimed at; the truth is what the clock of the thread's CPU time says, summed
around each call, and printed at the end as one line of JSON: what a profiler says is compared
with that, so that a busy machine or the profiler's own cost do not matter.
"""
import hashlib
import json
import sys
import threading
import time
import zlib

PARTS = {"half": 50, "third": 30, "sixth": 15, "rest": 5}
TURN = 0.004  # seconds for a hundred parts: no part is in step with a sampler's millisecond

clock = time.thread_time_ns


def half(n):
    total = 0
    for i in range(n):
        total += i * i & 7
    return total


def third(n):
    seen = {}
    for i in range(n):
        seen[i & 63] = i
    return seen


def sixth(n):
    text = []
    for i in range(n):
        text.append(i)
        if len(text) > 50:
            text = []
    return text


def rest(n):
    a, b = 0, 1
    while n:
        a, b = b, a + b & 0xFFFF
        n -= 1
    return a


# So much that what the kernel does for its buffers is little beside it.
def native_half(n, data=bytes(i * i % 251 for i in range(100_000))):
    for _ in range(n):
        zlib.compress(data, 6)


# Pieces so small that the kernel takes and gives their buffers all the time.
def pieces_half(n, data=bytes(range(256)) * 40):
    for _ in range(n):
        zlib.compress(data, 6)


def native_third(n, data=bytes(range(256)) * 400):
    for _ in range(n):
        hashlib.sha256(data).digest()


def native_sixth(n, data=[(i * 7919) % 10007 for i in range(4000)]):
    for _ in range(n):
        sorted(data)


def native_rest(n, data=bytes(range(256)) * 400):
    for _ in range(n):
        zlib.crc32(data)


KINDS = {
    "python": [half, third, sixth, rest],
    "native": [native_half, native_third, native_sixth, native_rest],
    "pieces": [pieces_half, native_third, native_sixth, native_rest],
    "threads": [half, third, sixth, rest],
}


def calibrate(function):
    """How many rounds take a second."""
    n = 16
    while True:
        before = clock()
        function(n)
        took = clock() - before
        if took > 20_000_000:
            return n / (took / 1e9)
        n *= 2


def run(kind, seconds):
    functions = KINDS[kind]
    parts = list(PARTS.values())
    rates = [calibrate(function) for function in functions]
    rounds = [max(1, int(rate * TURN * part / 100)) for rate, part in zip(rates, parts)]
    took = {function.__name__: 0 for function in functions}
    lock = threading.Lock()

    def work(which):
        end = time.process_time() + seconds
        mine = {function.__name__: 0 for function in functions}
        while time.process_time() < end:
            for function, n in which:
                before = clock()
                function(n)
                mine[function.__name__] += clock() - before
        with lock:
            for name, ns in mine.items():
                took[name] += ns

    pairs = list(zip(functions, rounds))
    if kind == "threads":
        # All four in each of four threads, each thread beginning with another one.
        threads = [
            threading.Thread(target=work, args=(pairs[i:] + pairs[:i],), name=f"worker-{i}")
            for i in range(4)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    else:
        work(pairs)
    whole = sum(took.values())
    print(json.dumps({"kind": kind, "seconds": whole / 1e9, "shares": {n: t / whole for n, t in took.items()}}))


if __name__ == "__main__":
    run(sys.argv[1], float(sys.argv[2]) if len(sys.argv) > 2 else 10.0)
