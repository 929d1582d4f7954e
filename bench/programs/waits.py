"""Two threads that want the interpreter's lock all the time, and what they waited by their own
clocks: the time that passed less the CPU time.

usage: waits.py [SECONDS]

On a busy machine a thread also waits for a processor; the kernel counts that, and it is printed
beside.
"""
import json
import sys
import threading
import time


def delay():
    """How long this thread was ready to run and did not."""
    try:
        with open(f"/proc/self/task/{threading.get_native_id()}/schedstat") as file:
            return int(file.read().split()[1]) / 1e9
    except OSError:
        return 0.0


def burn(seconds, told, barrier):
    barrier.wait()
    delayed, cpu, wall = delay(), time.thread_time(), time.monotonic()
    end, n = wall + seconds, 0
    while time.monotonic() < end:
        for i in range(2000):
            n += i & 3
    wall, cpu = time.monotonic() - wall, time.thread_time() - cpu
    told[threading.current_thread().name] = {"wall": wall, "cpu": cpu, "delay": delay() - delayed}


def main(seconds):
    told, barrier = {}, threading.Barrier(2)
    threads = [
        threading.Thread(target=burn, args=(seconds, told, barrier), name=name)
        for name in ("left", "right")
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(json.dumps(told))


main(float(sys.argv[1]) if len(sys.argv) > 1 else 5.0)
