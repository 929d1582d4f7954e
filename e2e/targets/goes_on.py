"""Works in two functions until its standard input ends, and prints if its results were right, and how many calls failed.

Prints a line when it has begun. A thread sleeps beside it, and one waits in a call that signals
could interrupt.
"""
import os
import select
import signal
import sys
import threading
import time
import zlib

over = threading.Event()
interrupted = 0


def work(numbers=range(4000)):
    return sum(number * number for number in numbers)


def packs(data=bytes(range(256)) * 300):
    return zlib.compress(data, 6)


def calls_work():
    return work()


def calls_packs():
    return packs()


def sleeper():
    while not over.is_set():
        time.sleep(0.003)


def waiter(reader):
    global interrupted
    while not over.is_set():
        try:
            select.select([reader], [], [], 0.005)
        except InterruptedError:
            interrupted += 1


def main():
    reader, _ = os.pipe()
    signal.signal(signal.SIGUSR1, lambda *_: None)
    for target, arguments in ((sleeper, ()), (waiter, (reader,))):
        threading.Thread(target=target, args=arguments, name=target.__name__).start()
    print("begun", flush=True)
    rounds = 0
    while not select.select([sys.stdin], [], [], 0)[0]:
        calls_work()
        calls_packs()
        rounds += 1
    over.set()
    print(f"{rounds > 0} {interrupted}")
    sys.exit(7)


main()
