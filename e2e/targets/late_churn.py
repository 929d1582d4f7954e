"""Allocates small objects, texts, buffers and copies for as many seconds as a line of its input says.

Then it prints what each line that ends in a comment has allocated: its name, blocks and bytes. It ends with its
input, and exits with 7.
"""
import sys
import time

leaked = []
blocks = {}
total = {}
big = bytes(4 << 20)
parts = [str(i) for i in range(1000)]
of_all_sizes = [16 << i % 13 for i in range(1000)]


def count(name, objects, of_each):
    """All objects of a line, each of which has so many blocks."""
    blocks[name] = blocks.get(name, 0) + of_each * len(objects)
    total[name] = total.get(name, 0) + sum(map(sys.getsizeof, objects))


def texts(kept):
    for i in range(1000):
        kept[i] = "x" * (2 + i % 200)  # texts
    count("texts", kept, 1)


def joined(kept):
    for i in range(100):
        kept[i] = ",".join(parts)  # joined
    count("joined", kept[:100], 1)


def sizes(kept):
    for i, size in enumerate(of_all_sizes):
        kept[i] = bytearray(size)  # sizes
    count("sizes", kept, 2)


def copies():
    changed = bytearray(big)  # copies
    count("copies", [changed], 2)
    frozen = bytes(changed)  # freezes
    count("freezes", [frozen], 1)


def leaks():
    size = 100_000 + len(leaked) % 1000
    block = bytearray(size)  # leaks
    leaked.append(block)
    count("leaks", [block], 2)


def main():
    print("begun", flush=True)
    for line in sys.stdin:
        until = time.monotonic() + float(line)
        blocks.clear()
        total.clear()
        while time.monotonic() < until:
            for work in (texts, joined, sizes):
                # Nothing that is replaced was allocated by another line.
                work([None] * 1000)
            copies()
            leaks()
        for name in blocks:
            print(name, blocks[name], total[name])
        print("done", flush=True)
    sys.exit(7)


main()
