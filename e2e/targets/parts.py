"""Parts that can be told apart: spans, threads, a child, files, memory and failing calls.

Arguments: the folder of the package, and one for files.
"""

import os
import sys
import threading
import time

sys.path.insert(0, sys.argv[1])

import profundo

FILE = os.path.join(sys.argv[2], "parts-%d" % os.getpid())


def burn(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        sum(range(500))


def reads():
    with open(FILE, "rb") as file:
        for _ in range(100):
            file.seek(0)
            file.read(1 << 20)


def job(name, kept):
    with profundo.span("job", name=name):
        burn(0.15)
        with profundo.span("io"):
            reads()
        kept.append([bytearray(1000) for _ in range(3000)])
        time.sleep(0.05)
        for _ in range(5):
            try:
                os.rmdir("/no/such/folder")
            except OSError:
                pass


with open(FILE, "wb") as file:
    file.write(b"x" * (1 << 20))
kept = []
threads = [threading.Thread(target=job, args=(name, kept), name=name) for name in ("a", "b")]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
if os.fork() == 0:
    with profundo.span("child"):
        burn(0.1)
    os._exit(0)
os.wait()
job("main", kept)
os.remove(FILE)
