"""Collects garbage, at once or when its input asks for it, and prints what it has collected."""
import gc
import os
import sys

gc.disable()
gc.collect()


class Ring:
    pass


def rings(count):
    for _ in range(count):
        one, other = Ring(), Ring()
        one.other, other.other = other, one


def collect(generation, count):
    rings(count)
    print(generation, gc.collect(generation), flush=True)


def storm():
    """Most of the time goes into collections."""
    kept = [[] for _ in range(100_000)]
    for _ in range(int(sys.argv[2])):
        gc.collect()
    return len(kept)


if sys.argv[1] == "storm":
    print(storm())
elif sys.argv[1] == "once":
    for generation in (0, 1, 2):
        collect(generation, 100 * (generation + 1))
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        collect(2, 700)
        os._exit(0)
    os.waitpid(child, 0)
    collect(1, 5)
else:
    print("begun", flush=True)
    for line in sys.stdin:
        generation, count = map(int, line.split())
        collect(generation, count)
    print(len(gc.callbacks), "gc" in sys.modules, flush=True)
