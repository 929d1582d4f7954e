"""Tasks that spin, a thread that waits all the time, and system calls on request.

Each line of its input is a number of calls.
"""
import asyncio
import os
import sys
import threading
import time

over = threading.Event()


def spin(seconds):
    until = time.thread_time() + seconds
    while time.thread_time() < until:
        pass


async def work(seconds):
    while not over.is_set():
        spin(seconds)
        await asyncio.sleep(0)


async def both():
    # Not in step with the kernel's ticks, by which system time is counted.
    loop = asyncio.get_running_loop()
    await asyncio.gather(loop.create_task(named(0.0069), name="big"), loop.create_task(named(0.0023), name="small"))


async def named(seconds):
    await work(seconds)


def waits_all_the_time(pipe):
    os.read(pipe, 1)


def main():
    reader, writer = os.pipe()
    null = os.open("/dev/null", os.O_WRONLY)
    threads = [
        threading.Thread(target=waits_all_the_time, args=(reader,), name="waits"),
        threading.Thread(target=asyncio.run, args=(both(),), name="tasks"),
    ]
    for thread in threads:
        thread.start()
    time.sleep(0.1)
    print("begun", flush=True)
    for line in sys.stdin:
        for _ in range(int(line)):
            os.write(null, b"1234")
            try:
                os.rmdir("/nonexistent")
            except OSError:
                pass
        print("done", flush=True)
    over.set()
    os.write(writer, b"x")
    for thread in threads:
        thread.join()
    sys.exit(7)


main()
