# Blocks in one known stack after another, having said what the stack is.
import asyncio, sys, threading

def tell(frame):
    while frame is not None:
        code = frame.f_code
        name = getattr(code, "co_qualname", code.co_name)
        column = end = None
        if hasattr(code, "co_positions"):
            _, _, column, end = list(code.co_positions())[frame.f_lasti // 2]
        say("frame", name, code.co_filename, frame.f_lineno, code.co_firstlineno,
            frame.f_lasti, column, end, code.co_flags)
        frame = frame.f_back
    say("stack", state_of())

def block():
    os.read((tell(sys._getframe()), 0)[1], 1)

def plain():
    block()

def recursion(n):
    if n: return recursion(n - 1)
    block()

def through_map():
    return list(map(lambda x: block(), [1]))

def through_sorted():
    return sorted([1], key=lambda x: (x, block()))

def generator(n):
    yield 1
    block()
    yield n

def through_generator():
    for value in generator(
        2):
        pass

def delegating():
    yield from generator(3)

def through_delegation():
    return sum(delegating())

def in_handler():
    try:
        raise ValueError(1)
    except ValueError:
        try:
            {}[0]
        except KeyError as error:
            block()
        finally:
            block()

def nested():
    def inner():
        def innermost(): block()
        return innermost()
    return [inner() for _ in (1,)]

class Made:
    def __init__(self): block()
    @property
    def value(self): return block()
    @staticmethod
    def static(): block()
    @classmethod
    def of_class(cls): return cls.static()
    def __getattr__(self, name): block(); return 1
    def __getitem__(self, index): return block()
    def __add__(self, other): return block()
    def __enter__(self): block()
    def __exit__(self, *_): block()
    def __call__(self, *a, **k): block()

def methods():
    made = Made()
    Made.of_class(); made.value; made.missing; made[1]; made + 1
    with made: pass
    made(*[1], **{"k": 2})

async def awaited():
    await asyncio.sleep(0)
    block()

async def task():
    return await awaited()

async def main():
    await asyncio.gather(task(), task())

def in_asyncio():
    asyncio.run(main())

async def agen():
    block()
    yield 1

async def over_agen():
    async for x in agen(): pass

def in_thread():
    thread = threading.Thread(target=plain)
    thread.start(); thread.join()

def names():
    for name in ("f\xfcnf", "\u4e2d\u6587", "\U0001d4b3", "x" * 300):
        scope = {"block": block}
        exec(compile("\n\ndef g%d():\n  block()\ng%d()" % (len(name), len(name)), name + ".py", "exec"), scope)
        source = "def %s():\n  block()\n%s()" % (name, name)
        exec(compile(source, name, "exec"), scope)

def long_function():
    scope = {"block": block}
    body = "\n".join("  a = %d; b = (a +\n   %d)" % (n, n) for n in range(700))
    exec(compile("def long():\n" + body + "\n  block()\n" + body + "\nlong()", "long.py", "exec"), scope)

def warmed():
    for _ in range(300): Warm()
    Warm(block)

class Warm:
    def __init__(self, call=int): call()

for scenario in (plain, lambda: recursion(60), through_map, through_sorted, through_generator,
                 through_delegation, in_handler, nested, methods, in_asyncio,
                 lambda: asyncio.run(over_agen()), in_thread, names, long_function, warmed):
    scenario()
say("done")
