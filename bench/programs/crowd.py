"""Two hundred threads, of which four run and the others wait.

usage: crowd.py [SECONDS]
"""
import sys
import threading
import time


def runs(end):
    n = 0
    while time.monotonic() < end:
        for i in range(1000):
            n = n + i & 0xFFFF
    return n


def main(seconds):
    over = threading.Event()
    waiting = [threading.Thread(target=over.wait, daemon=True) for _ in range(196)]
    for thread in waiting:
        thread.start()
    end = time.monotonic() + seconds
    running = [threading.Thread(target=runs, args=(end,)) for _ in range(4)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    over.set()


if __name__ == "__main__":
    main(float(sys.argv[1]) if len(sys.argv) > 1 else 3.0)
