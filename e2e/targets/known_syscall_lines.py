"""Two lines make the same failing call: one of them three times as often as the other. A third line
makes another call, which does not fail."""

import os

ROUNDS = 100000


def often():
    for _ in range(3):
        try:
            os.stat("/nowhere/at/all")  # often
        except OSError:
            pass


def seldom():
    try:
        os.stat("/nowhere/at/all")  # seldom
    except OSError:
        pass


for _ in range(ROUNDS):
    often()
    seldom()
    os.getpgid(0)  # works
print("done")
