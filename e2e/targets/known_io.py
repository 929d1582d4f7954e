"""Lines that read and write known numbers of bytes; the last one's are what a child writes slowly.

Files stay open for a while: what a descriptor is can be seen only as long as it is.

usage: known_io.py FOLDER
"""
import os
import subprocess
import sys

SIZE = 64 << 20
PIPED = 16 << 20
PATH = os.path.join(sys.argv[1], "known-io.data")
CHILD = """
import os, time
for _ in range({} >> 15):
    os.write(1, bytes(1 << 15))
    time.sleep(0.003)
""".format(PIPED)


def works():
    total = 0
    for number in range(3_000_000):
        total += number  # works
    return total


def writes():
    piece = bytes(1 << 16)
    with open(PATH, "wb", buffering=0) as file:
        for _ in range(SIZE // len(piece)):
            file.write(piece)  # writes
        works()


def reads_pieces():
    with open(PATH, "rb", buffering=0) as file:
        while os.read(file.fileno(), 512):  # reads_pieces
            pass
        works()


def reads_pipe():
    child = subprocess.Popen([sys.executable, "-S", "-c", CHILD], stdout=subprocess.PIPE)
    while os.read(child.stdout.fileno(), 1 << 16):  # reads_pipe
        pass
    child.wait()


try:
    writes()
    reads_pieces()
    reads_pipe()
finally:
    os.unlink(PATH)
