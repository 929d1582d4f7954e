"""Functions of known shares, of every kind that a Python program is made of, and a line with the
truth by the clock of the thread.

half (50), Class.method (20), closure (10), a generator (10), a coroutine (10).
"""
import asyncio
import json
import time

clock = time.thread_time


def burn(seconds):
    end = clock() + seconds
    n = 0
    while clock() < end:
        for i in range(200):
            n += i * i & 7
    return n


def half():
    burn(0.05)


class Class:
    def method(self):
        burn(0.02)


def outer():
    def closure():
        burn(0.01)
    return closure


def generator(n):
    for i in range(n):
        burn(0.01 / n)
        yield i


async def coroutine():
    for _ in range(4):
        burn(0.0025)
        await asyncio.sleep(0)


def main():
    thing, closure = Class(), outer()
    for _ in range(12):
        half()
        thing.method()
        closure()
        sum(generator(4))
        asyncio.run(coroutine())
    print("done")


main()
