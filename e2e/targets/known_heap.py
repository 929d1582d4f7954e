"""Keeps known objects on known lines; with an argument it says what tracemalloc knows of them."""
import sys

if len(sys.argv) > 1:
    import tracemalloc

    tracemalloc.start()


def keep():
    numbers = [float(number) for number in range(3000)]  # numbers
    blocks = [bytearray(1000 + number) for number in range(500)]  # blocks
    texts = ["text %d" % number for number in range(2000)]  # texts
    table = {number: (number, number) for number in range(1000, 3000)}  # table
    for _ in range(50):
        bytes(100_000)  # passes
    return numbers, blocks, texts, table


kept = keep()
if len(sys.argv) > 1:
    taken = tracemalloc.take_snapshot()
    for row in taken.statistics("lineno"):
        frame = row.traceback[0]
        if frame.filename == __file__:
            print(frame.lineno, row.size)
