"""Makes known numbers of system calls, of which some fail."""

import os
import threading


def absent():
    for _ in range(2000):
        try:
            os.stat("/nowhere/at/all")
        except OSError:
            pass


def bad():
    for _ in range(1000):
        try:
            os.fsync(9999)
        except OSError:
            pass


def works():
    for _ in range(1500):
        os.getpgid(0)


absent()
thread = threading.Thread(target=bad)
thread.start()
thread.join()
works()
print("done")
