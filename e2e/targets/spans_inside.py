"""Burns in two spans in turn until its standard input ends, and says whether all went well.

Arguments: the folder of the package, and `late` if it is imported when the agent has come in.
Prints a line when it has begun.
"""

import select
import sys
import time

sys.path.insert(0, sys.argv[1])


def burn(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        sum(range(300))


def has_agent():
    with open("/proc/self/maps", "rb") as maps:
        return b"libprofundo-agent-" in maps.read()


if sys.argv[2:] == ["late"]:
    print("begun", flush=True)
    while not has_agent():
        burn(0.01)
    # It looks for the package once.
    time.sleep(0.5)

import profundo


@profundo.span("decorated")
def decorated():
    burn(0.003)


rounds = 0
if sys.argv[2:] != ["late"]:
    print("begun", flush=True)
while not select.select([sys.stdin], [], [], 0)[0]:
    with profundo.span("outer", kind="loop"):
        burn(0.006)
        decorated()
    burn(0.003)
    rounds += 1
print(rounds > 0)
sys.exit(7)
