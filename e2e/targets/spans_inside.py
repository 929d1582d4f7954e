"""Burns in two spans in turn until its standard input ends, and says whether all went well.

Argument: the folder of the package. Prints a line when it has begun.
"""

import select
import sys
import time

sys.path.insert(0, sys.argv[1])

import profundo


def burn(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        sum(range(300))


@profundo.span("decorated")
def decorated():
    burn(0.003)


rounds = 0
print("begun", flush=True)
while not select.select([sys.stdin], [], [], 0)[0]:
    with profundo.span("outer", kind="loop"):
        burn(0.006)
        decorated()
    burn(0.003)
    rounds += 1
print(rounds > 0)
sys.exit(7)
