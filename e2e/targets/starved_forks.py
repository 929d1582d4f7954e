"""Forks children while the recorder does not run: see starved_forks.c."""

import os
import time


def say(name):
    with open(name, "w") as file:
        file.write(f"{os.getpid()}\n")


def burn_in_child():
    end = time.process_time() + 0.4
    number = 0
    while time.process_time() < end:
        number += sum(range(1000))
    return number


def main():
    say("ready")
    while not os.path.exists("go"):
        time.sleep(0.001)
    for _ in range(12):
        if os.fork() == 0:
            burn_in_child()
            os._exit(0)
    say("done")
    for _ in range(12):
        os.wait()
    print("twelve", flush=True)


main()
