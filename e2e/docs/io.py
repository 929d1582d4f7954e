"""Writes a file, reads it in small pieces, and reads what a child writes slowly."""
import os
import subprocess
import sys
import tempfile

SIZE = 64 << 20
CHILD = """
import os, time
for _ in range(200):
    os.write(1, bytes(1 << 16))
    time.sleep(0.004)
"""


def works():
    return sum(number * number for number in range(2_000_000))


def write(path):
    piece = bytes(1 << 16)
    with open(path, "wb", buffering=0) as file:
        for _ in range(SIZE // len(piece)):
            file.write(piece)
        works()


def read(path):
    with open(path, "rb", buffering=0) as file:
        while os.read(file.fileno(), 512):
            pass
        works()


def read_pipe():
    child = subprocess.Popen([sys.executable, "-S", "-c", CHILD], stdout=subprocess.PIPE)
    while os.read(child.stdout.fileno(), 1 << 16):
        pass
    child.wait()


PATH = os.path.join(tempfile.gettempdir(), "profundo-io.data")
write(PATH)
read(PATH)
read_pipe()
os.unlink(PATH)
