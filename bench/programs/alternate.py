"""Alternates between call paths as fast as it can, and knows which calls are possible.

usage: alternate.py [SECONDS]        run
       alternate.py --edges          print the possible calls as JSON: a name, and who may call it

Each function's name is unique, and each is called from few places only, so a stack that mixes
two paths holds a pair of names that is not in the list.
"""
import asyncio
import functools
import json
import sys
import threading
import time

EDGES = {}


def called_by(*callers):
    def mark(function):
        EDGES[function.__name__] = list(callers)
        return function

    return mark


# Plain calls, two paths of equal shape.
@called_by("red_two")
def red_three(n):
    return n + 1


@called_by("red_one")
def red_two(n):
    return red_three(n) + red_three(n)


@called_by("calls")
def red_one(n):
    return red_two(n)


@called_by("blue_two")
def blue_three(n):
    return n - 1


@called_by("blue_one")
def blue_two(n):
    return blue_three(n) + blue_three(n)


@called_by("calls")
def blue_one(n):
    return blue_two(n)


@called_by("turn")
def calls():
    for i in range(20):
        red_one(i)
        blue_one(i)


# Generators that carry generators.
@called_by("middle_generator")
def inner_generator(n):
    for i in range(n):
        yield i


@called_by("outer_generator")
def middle_generator(n):
    yield from inner_generator(n)


@called_by("generators")
def outer_generator(n):
    for value in middle_generator(n):
        yield value * 2


@called_by("turn")
def generators():
    total = 0
    for value in outer_generator(30):
        total += value
    return total


# Recursion that goes down and up again.
@called_by("recursion", "descend")
def descend(n):
    if n == 0:
        return 0
    return 1 + descend(n - 1)


@called_by("turn")
def recursion():
    descend(60)


# C that calls back.
@called_by("callbacks")
def key_of(value):
    return -value


@called_by("callbacks")
def compare(a, b):
    return (a > b) - (a < b)


@called_by("turn")
def callbacks():
    sorted(range(30), key=key_of)
    sorted(range(20), key=functools.cmp_to_key(compare))
    list(map(key_of, range(30)))


# Exceptions that unwind several frames.
@called_by("throw_two")
def throw_three(n):
    if n % 2:
        raise ValueError(n)
    return n


@called_by("throw_one")
def throw_two(n):
    try:
        return throw_three(n)
    finally:
        n += 1


@called_by("exceptions")
def throw_one(n):
    return throw_two(n)


@called_by("turn")
def exceptions():
    for i in range(20):
        try:
            throw_one(i)
        except ValueError:
            pass


# Code objects that come and go, so that addresses are used again.
@called_by("turn")
def fresh_code():
    for i in range(3):
        space = {}
        name = "even" if i % 2 == 0 else "odd"
        exec(f"def fresh_{name}_two(n):\n    return n + {i}\n"
             f"def fresh_{name}_one(n):\n    return fresh_{name}_two(n)\n", space)
        one = space[f"fresh_{name}_one"]
        for _ in range(10):
            one(1)


for _name in "even", "odd":
    EDGES[f"fresh_{_name}_one"] = ["fresh_code"]
    EDGES[f"fresh_{_name}_two"] = [f"fresh_{_name}_one"]


# Methods, properties, classes.
class Thing:
    @property
    @called_by("methods")
    def worth(self):
        return self.compute_worth()

    @called_by("worth")
    def compute_worth(self):
        return 3

    @called_by("methods")
    def __len__(self):
        return 7


@called_by("turn")
def methods():
    thing = Thing()
    for _ in range(20):
        thing.worth
        len(thing)


# Coroutines.
@called_by("await_two")
async def await_three():
    await asyncio.sleep(0)
    return 1


@called_by("await_one")
async def await_two():
    return await await_three()


@called_by("_run", "gather_all", "<listcomp>")  # making a coroutine enters its frame, too
async def await_one():
    return await await_two()


@called_by("_run", "plain_loop")
async def gather_all():
    await asyncio.gather(*[await_one() for _ in range(5)])


TURNS = [calls, generators, recursion, callbacks, exceptions, fresh_code, methods]


@called_by("plain_loop", "threaded_loop")
def turn(which):
    which()


@called_by("main")
def plain_loop(end):
    n = 0
    while time.monotonic() < end:
        turn(TURNS[n % len(TURNS)])
        n += 1
        if n % 50 == 0:
            asyncio.run(gather_all())


@called_by("run")
def threaded_loop(end, seed):
    n = seed
    while time.monotonic() < end:
        turn(TURNS[n % len(TURNS)])
        n += 1


@called_by("<module>")
def main(seconds):
    end = time.monotonic() + seconds
    threads = [threading.Thread(target=threaded_loop, args=(end, i)) for i in range(2)]
    for thread in threads:
        thread.start()
    plain_loop(end)
    for thread in threads:
        thread.join()
    print("done")


if __name__ == "__main__":
    if sys.argv[1:] == ["--edges"]:
        print(json.dumps(EDGES))
    else:
        sys.setswitchinterval(0.001)
        main(float(sys.argv[1]) if len(sys.argv) > 1 else 10.0)
