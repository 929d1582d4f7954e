"""Statements over several lines, reads and writes, and a line that calls itself."""

import os
import tempfile
import time


def total(rows):
    return sum(
        number * number
        for number in range(
            rows
        )
    )


def deep(level):
    if level == 0:
        return total(4000)
    return (
        deep(level - 1)
        + total(400)
    )


def write(folder):
    data = bytes(10_000)
    with open(os.path.join(folder, "out"), "wb", buffering=0) as out:
        # Enough calls to be sampled, over the same pages: a disk need not take them all.
        for _ in range(20_000):
            out.seek(0)
            _ = (
                out.write(data),
                out.write(data),
            )
        os.fsync(out.fileno())
    # A fast disk does not wait long enough for a sample.
    time.sleep(0.2)


def busy(size):
    """The size, after some time that allocates little."""
    pow(7, 10**900, 10**900 + 1)
    return size


def keep():
    return (
        [bytes(busy(100_000)) for _ in range(20)]
        + [bytes(busy(50_000)) for _ in range(20)]
    )


def main():
    kept = keep()
    for _ in range(120):
        total(4000)
        deep(5)
    with tempfile.TemporaryDirectory() as folder:
        write(folder)
    assert len(kept) == 40


main()
