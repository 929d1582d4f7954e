"""Allocates when a line of its input says so, and prints what it has allocated, by the comments of the lines.

Blocks from before are freed meanwhile, and a thread allocates all the time. It ends with its input, and exits with 7.
"""
import sys
import threading

over = threading.Event()
few, many = ([(number, size + number) for number in range(count)] for count, size in ((20, 100_000), (1000, 40)))
old = [bytes(100 + number) for number in range(300)]
kept = [None] * 1000
grown = [None] * 20


def noise():
    number = 0
    while not over.wait(0.001):
        number += 1
        [bytes(number % 700) for _ in range(20)]


def keeps():
    for number, size in many:
        kept[number] = bytes(size)  # keeps
    return kept[:1000]


def large():
    for number, size in few:
        grown[number] = bytes(size)  # large
    return grown


def passes():
    size = 64
    for _ in many:
        block = bytes(size)  # passes
    return len(many) * sys.getsizeof(block)


def work():
    for blocks in (keeps, large):
        found = blocks()
        print(blocks.__name__, len(found), sum(map(sys.getsizeof, found)), flush=True)
    print("passes", 1000, passes(), flush=True)
    del old[::3]
    for number in range(0, 1000, 2):
        kept[number] = None


def main():
    thread = threading.Thread(target=noise)
    thread.start()
    print("begun", flush=True)
    for line in sys.stdin:
        work()
        print("done", flush=True)
    over.set()
    thread.join()
    print(sum(map(len, old)) > 0)
    sys.exit(7)


main()
