# Tasks of many kinds, each of which says what it is called and then blocks.
import asyncio, sys

def block(name):
    say("task", state_of(), name)
    os.read(0, 1)

def me():
    # Before it is asked for, a name may be a number only; the counter says it all the same.
    return asyncio.current_task().get_name()

async def first():
    block(me())

async def twice():
    await asyncio.sleep(0)
    block(me())

async def woken(event):
    await event.wait()
    block(me())

async def deep(n):
    if n:
        return await deep(n - 1)
    await asyncio.sleep(0)
    block(me())

async def renamed():
    asyncio.current_task().set_name("another name")
    block("another name")

async def generates():
    await asyncio.sleep(0)
    yield 1
    block(me())

async def iterates():
    async for _ in generates():
        pass

async def lazy(name):
    block(name)

class Derived(asyncio.Task):
    pass

async def main():
    loop = asyncio.get_running_loop()
    block(me())
    for name in ("red", "", "\xfcml\xe4ut", "\u4e2d\u6587", "\U0001d4b3y", "x" * 300):
        await asyncio.create_task(first(), name=name)
        await asyncio.create_task(twice(), name=name)
    for make in (first, twice, lambda: deep(20), renamed, iterates):
        await asyncio.create_task(make())
        await loop.create_task(make())
        await asyncio.gather(make(), make())
        await Derived(make(), loop=loop, name="derived")
        await asyncio.wait_for(make(), 5)
    event = asyncio.Event()
    tasks = [asyncio.create_task(woken(event), name="w%d" % n) for n in range(5)]
    await asyncio.sleep(0.01)
    event.set()
    await asyncio.gather(*tasks)
    # These names are not asked for before they are read. One takes the number to go on from.
    task = asyncio.create_task(asyncio.sleep(0))
    number = int(task.get_name().split("-")[1])
    await task
    for n in range(1, 30):
        await asyncio.create_task(lazy("Task-%d" % (number + n)))
    if sys.version_info >= (3, 12):
        # More than one digit of the interpreter's.
        task = asyncio.create_task(first())
        task.set_name(str(1 << 40))
        await task

def by_hand():
    coroutine = first_by_hand()
    try:
        coroutine.send(None)
    except StopIteration:
        pass

async def first_by_hand():
    block("-")

async def drives():
    # A coroutine that no task knows, below one of a task: the outermost one counts.
    task = asyncio.current_task()
    try:
        lazy(task.get_name()).send(None)
    except StopIteration:
        pass

asyncio.run(main())
asyncio.run(drives())
say("none")
by_hand()
# A task that is written in Python has its name elsewhere.
loop = asyncio.new_event_loop()
loop.set_task_factory(lambda loop, coroutine, **more: asyncio.tasks._PyTask(coroutine, loop=loop))
loop.run_until_complete(lazy("-"))
loop.close()
say("done")
