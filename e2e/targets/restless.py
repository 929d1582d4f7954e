"""A program that never rests: threads, tasks, children, code that is made anew, modules that come
and go, exceptions. `restless.py SECONDS`. It works for a quarter of the time in each of four
functions, and prints the CPU time of each quarter. What it keeps does not grow."""

import asyncio
import os
import random
import resource
import subprocess
import sys
import threading
import time

held = [None] * 1000


def spin(turns):
    total = 0
    for number in range(turns):
        total += number * number
    return total


def allocate(times):
    for _ in range(times):
        size = random.randrange(2000)
        held[random.randrange(len(held))] = [bytes(size), {size: str(size)}]


def make_code():
    names = {}
    exec(compile("def made(turns):\n    return sum(i * i for i in range(turns))", "<made>", "exec"), names)
    return names["made"](5000)


def use_module():
    import colorsys

    del sys.modules["colorsys"]
    return colorsys.rgb_to_hls(0.1, 0.2, 0.3)


def raise_and_catch(depth):
    if depth == 0:
        raise ValueError("as asked")
    try:
        raise_and_catch(depth - 1)
    except ValueError as error:
        raise KeyError(depth) from error


async def wait_and_spin():
    await asyncio.sleep(0.001)
    return spin(2000)


async def run_tasks():
    await asyncio.gather(*(wait_and_spin() for _ in range(5)))


def have_child(number):
    if number % 10 == 0:
        return subprocess.run(["true"], check=True)
    child = os.fork()
    if child == 0:
        spin(5000)
        os._exit(7)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7


def work(quarter, number):
    threads = [threading.Thread(target=quarter, args=(None,)) for _ in range(2)]
    for thread in threads:
        thread.start()
    allocate(50)
    make_code()
    use_module()
    try:
        raise_and_catch(5)
    except KeyError:
        pass
    if number % 4 == 0:
        asyncio.run(run_tasks())
    for thread in threads:
        thread.join()
    # A fork beside threads that hold locks would hang its child.
    if number % 4 == 1:
        have_child(number)


def quarter_1(number):
    spin(5000) if number is None else work(quarter_1, number)


def quarter_2(number):
    spin(5000) if number is None else work(quarter_2, number)


def quarter_3(number):
    spin(5000) if number is None else work(quarter_3, number)


def quarter_4(number):
    spin(5000) if number is None else work(quarter_4, number)


def used():
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def main(seconds):
    began = time.monotonic()
    number = 0
    for index, quarter in enumerate([quarter_1, quarter_2, quarter_3, quarter_4], 1):
        before = used()
        while time.monotonic() - began < seconds * index / 4:
            quarter(number)
            number += 1
            time.sleep(0.01)
        print(f"quarter_{index} {used() - before:.3f}", flush=True)
    print("it has rested")
    sys.exit(7)


main(float(sys.argv[1]))
