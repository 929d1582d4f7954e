"""Spans whose CPU time is known: in tasks that take turns, in threads, generators and children.

Argument: the folder of the package. Each kind of work burns so many milliseconds of CPU time.
"""

import asyncio
import os
import sys
import threading
import time

sys.path.insert(0, sys.argv[1])

import profundo

REQUESTS = 50
ROUNDS = 3
KINDS = {"search": 8, "cart": 4, "home": 2}


def burn(milliseconds):
    began = time.thread_time()
    while time.thread_time() - began < milliseconds / 1000:
        sum(range(300))


async def part(kind):
    await asyncio.sleep(0)
    burn(1)


async def request(number):
    kind = sorted(KINDS)[number % 3]
    with profundo.span("request", route=kind):
        for _ in range(ROUNDS):
            burn(KINDS[kind])
            await asyncio.sleep(0.001)
            with profundo.span("query"):
                await asyncio.sleep(0.001)
                burn(1)
                await asyncio.sleep(0)
            # Tasks are in the span of the task that has created them.
            await asyncio.gather(part(kind), part(kind))


async def outside():
    for _ in range(40):
        burn(5)
        await asyncio.sleep(0.001)


async def serve():
    profundo.mark("ready")
    await asyncio.gather(outside(), *map(request, range(REQUESTS)))
    profundo.mark("served %d" % REQUESTS)


@profundo.span("decorated", kind="function")
def decorated(depth):
    burn(20)
    if depth:
        decorated(depth - 1)


@profundo.span("coroutine")
async def coroutine():
    burn(30)
    await asyncio.sleep(0)
    burn(30)


@profundo.span("generator")
def generator():
    burn(25)
    yield 1
    burn(25)


@profundo.span("numbers")
def numbers():
    for number in range(5):
        burn(8)
        yield number


def caller():
    # While the generator is suspended, its caller is not in its span.
    with profundo.span("caller"):
        for _ in numbers():
            burn(6)
            with profundo.span("inside"):
                burn(4)


def in_thread(barrier):
    barrier.wait()
    with profundo.span("thread"):
        burn(60)
    burn(20)


def threads():
    barrier = threading.Barrier(3)
    with profundo.span("spawning"):
        all_of_them = [threading.Thread(target=in_thread, args=(barrier,)) for _ in range(3)]
        for thread in all_of_them:
            thread.start()
        for thread in all_of_them:
            thread.join()


def overlapping():
    first, second = profundo.span("first"), profundo.span("second")
    first.__enter__()
    burn(30)
    second.__enter__()
    burn(40)
    first.__exit__(None, None, None)
    burn(50)
    second.__exit__(None, None, None)
    burn(30)


def again():
    one = profundo.span("again")
    with one:
        with one:
            burn(20)
        burn(20)
    with one:
        burn(20)


def failing():
    try:
        with profundo.span("failing", error="yes\n"):
            burn(20)
            raise KeyError
    except KeyError:
        pass


def child():
    with profundo.span("forked"):
        if (pid := os.fork()) == 0:
            burn(100)
            with profundo.span("in child"):
                burn(60)
            os._exit(0)
        os.waitpid(pid, 0)


def very_many():
    with profundo.span("loop"):
        for _ in range(150_000):
            with profundo.span("step"):
                pass


asyncio.run(serve())
decorated(2)
asyncio.run(coroutine())
assert list(generator()) == [1]
caller()
threads()
overlapping()
again()
failing()
child()
very_many()
left = profundo.span("left open")
left.__enter__()
burn(20)
print("done")
