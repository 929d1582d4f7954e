# A master that sleeps until its input ends, and two workers that it has started before.
import os
import signal
import sys


def burn():
    while True:
        for _ in range(100000):
            pass


workers = []
for _ in range(2):
    worker = os.fork()
    if worker == 0:
        burn()
    workers.append(worker)
print("begun", flush=True)
sys.stdin.read()
for worker in workers:
    os.kill(worker, signal.SIGKILL)
    os.waitpid(worker, 0)
print("done")
sys.exit(7)
