"""Threads that put numbers into a queue with room for ten, and as many that take them out: the interpreter's lock
and those of the queue go from one to the other all the time.

usage: queue_of_ten.py [NUMBERS]
"""
import queue
import sys
import threading

THREADS = 25


def put(queue, numbers):
    for number in range(numbers):
        queue.put(number)


def take(queue, numbers):
    for _ in range(numbers):
        queue.get()


def main(numbers):
    few = queue.Queue(10)
    each = numbers // THREADS
    threads = [
        threading.Thread(target=what, args=(few, each))
        for what in (put, take)
        for _ in range(THREADS)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 20_000)
