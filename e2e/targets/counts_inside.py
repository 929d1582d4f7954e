"""Calls functions a number of times on request: in threads old and new, a generator, coroutines and a child.

Each line of its input is the number, or has the program run another program or kill itself. At the end it prints the
tools that are registered with the interpreter. Words: `busy` has a thread run all the time, `tool` has profilers of
the program's own.
"""
import asyncio
import os
import queue
import signal
import sys
import threading


def leaf(number):
    return number


def caller(count):
    for number in range(count):
        leaf(number)


def endless():
    number = 0
    while True:
        yield number
        number += 1


async def step():
    await asyncio.sleep(0)


async def steps(count):
    for _ in range(count):
        await step()


def raises(count):
    for _ in range(count):
        try:
            raise ValueError
        except ValueError:
            pass


def worker(requests, answers):
    while True:
        count = requests.get()
        if count is None:
            return
        caller(count)
        answers.put(count)


def in_child(count):
    child = os.fork()
    if child == 0:
        caller(count)
        os._exit(0)
    os.waitpid(child, 0)


def busy(over):
    while not over.is_set():
        sum(number for number in range(50))


def tools():
    monitoring = getattr(sys, "monitoring", None)
    if monitoring is None:
        return [sys.getprofile(), sys.gettrace()]
    return [monitoring.get_tool(tool) for tool in range(6)]


def take_tools():
    if hasattr(sys, "monitoring"):
        for tool in (3, 4, 5):
            sys.monitoring.use_tool_id(tool, "own")
    else:
        sys.setprofile(lambda *_: None)
        sys.settrace(lambda *_: None)


def main():
    if "tool" in sys.argv:
        take_tools()
    answers, over = queue.Queue(), threading.Event()
    requests = [queue.Queue() for _ in range(2)]
    threads = [threading.Thread(target=worker, args=(one, answers), name="worker") for one in requests]
    if "busy" in sys.argv:
        threads.append(threading.Thread(target=busy, args=(over,), name="busy"))
    for thread in threads:
        thread.start()
    generator = endless()
    next(generator)
    print("begun", flush=True)
    for line in sys.stdin:
        if line == "exec\n":
            os.execv(sys.executable, [sys.executable, "-c", "def leaf(): pass\nfor _ in range(70): leaf()\nprint('ran')"])
        if line == "kill\n":
            os.kill(os.getpid(), signal.SIGKILL)
        count = int(line)
        caller(count)
        for one in requests:
            one.put(count)
        for _ in requests:
            answers.get()
        for _ in range(count):
            next(generator)
        asyncio.run(steps(count))
        new = threading.Thread(target=caller, args=(count,), name="new")
        new.start()
        new.join()
        in_child(count)
        raises(count)
        print("done", flush=True)
    over.set()
    for one in requests:
        one.put(None)
    for thread in threads:
        thread.join()
    print(tools(), hasattr(__builtins__, "profile"))
    sys.exit(7)


main()
