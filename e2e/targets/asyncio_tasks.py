"""Tasks with names, in one loop, beside work in threads, a child process, and a cancelled task."""
import asyncio
import sys
import time


def burn(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        sum(range(200))


def burn_in_thread(seconds):
    burn(seconds)
    return "thread"


async def deep(n):
    if n:
        return await deep(n - 1)
    burn(0.02)
    await asyncio.sleep(0)
    return 1


async def work(name):
    total = 0
    for _ in range(5):
        total += await deep(8)
        await asyncio.sleep(0.001)
    return name, total


async def numbers():
    for i in range(5):
        burn(0.005)
        yield i
        await asyncio.sleep(0)


async def child():
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", "import sys; print(sum(map(int, sys.stdin.read().split())))",
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE)
    out, _ = await process.communicate(b"1 2 3")
    shell = await asyncio.create_subprocess_shell("exit 3")
    return out, await shell.wait()


async def main():
    loop = asyncio.get_running_loop()
    tasks = [asyncio.create_task(work(name), name=name) for name in ("red", "green", "blue")]
    endless = asyncio.create_task(asyncio.sleep(1000), name="endless")
    print(await loop.run_in_executor(None, burn_in_thread, 0.2))
    print(await asyncio.gather(*tasks))
    print([i async for i in numbers()])
    print(await child())
    endless.cancel()
    try:
        await endless
    except asyncio.CancelledError:
        print("cancelled")
    try:
        await asyncio.wait_for(asyncio.sleep(10), 0.01)
    except asyncio.TimeoutError:
        print("timeout")


asyncio.run(main())
