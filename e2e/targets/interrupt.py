"""Waits for Ctrl-C: at work, in a sleep, at the prompt; the last one ends it."""
import sys
import time


def burn_until_interrupted():
    while True:
        sum(range(100))


for wait in burn_until_interrupted, lambda: time.sleep(1000), lambda: input("prompt> "):
    try:
        print("waiting", flush=True)
        wait()
    except KeyboardInterrupt:
        print("interrupted", flush=True)
# Where exactly it was is another matter each time.
sys.tracebacklimit = 0
print("the last", flush=True)
burn_until_interrupted()
