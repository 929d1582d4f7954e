# Does all that moves an interpreter's stack, as fast as it can, at lines that say who called.
import asyncio, gc, os, sys, threading, time

def leaf_a(n):
    s = 0
    for i in range(n):
        s += i
    return s

def leaf_b(n):
    s = 1
    for i in range(n):
        s ^= i * i
    return s

def recursion(n):
    if n:
        return recursion(n - 1)
    return leaf_a(5)

def key_a(x):
    return -x

def key_b(x):
    return leaf_b(1) * x

def sorts(n):
    a = sorted(range(n), key=key_a)
    b = sorted(range(n), key=key_b)
    c = list(map(lambda x: leaf_a(1), a))
    return list(map(lambda y: y, b))

def generator_a(n):
    for i in range(n):
        yield leaf_a(1)

def generator_b(n):
    for i in range(n):
        yield i

def delegating(n):
    yield from generator_a(n)
    yield from generator_b(n)

def generators(n):
    a = sum(generator_a(n))
    b = sum(delegating(n))
    for x in generator_b(n):
        pass
    for x in delegating(n):
        pass
    c = [x for x in generator_a(n)]
    return sum(leaf_b(2) for x in range(n))

def raises_a(n):
    if n == 0:
        raise ValueError(n)
    raises_a(n - 1)

def raises_b():
    return {}[1]

def exceptions(n):
    for i in range(n):
        try:
            raises_a(i % 5)
        except ValueError:
            try:
                raises_b()
            except KeyError:
                leaf_a(2)
        finally:
            leaf_b(2)

class Base:
    def __init__(self, x):
        self.x = leaf_a(x)
    def method(self):
        return self.prop
    @property
    def prop(self):
        return leaf_b(1)

class Derived(Base):
    def __init__(self, x):
        super().__init__(x)
        self.y = 1
    def __add__(self, other):
        return leaf_a(1)
    def __getattr__(self, name):
        return leaf_b(1)
    def __getitem__(self, index):
        return leaf_a(2)
    def __enter__(self):
        return leaf_b(2)
    def __exit__(self, *_):
        return leaf_a(3) < 0

def objects(n):
    for i in range(n):
        one = Derived(2)
        two = Base(1)
        one.method()
        two.method()
        one + two
        one.missing
        one[0]
        with one:
            leaf_b(1)

FRESH_A = "def fresh_a(n):\n    return leaf_a(n + %d)\nfresh_a(3)\n"
FRESH_B = "\n\ndef other(n):\n    return n\ndef fresh_b(n):\n    x = other(n)\n    return leaf_b(x + %d)\nfresh_b(2)\n"

def fresh(n):
    scope = {"leaf_a": leaf_a, "leaf_b": leaf_b}
    for i in range(n):
        exec(compile(FRESH_A % i, "fresh", "exec"), scope)
        exec(compile(FRESH_B % i, "fresh", "exec"), scope)

async def awaited_a(n):
    await asyncio.sleep(0)
    return leaf_a(n)

async def awaited_b(n):
    leaf_b(n)
    await asyncio.sleep(0)
    return leaf_b(n)

async def task_a():
    for i in range(5):
        await awaited_a(20)

async def task_b():
    for i in range(5):
        await awaited_b(20)

async def gather():
    await asyncio.gather(task_a(), task_b(), task_a())

def tasks():
    asyncio.run(gather())

def natives(n):
    import zlib
    zlib.crc32(b"x" * 100000)
    return str(10 ** n)

def mix(until):
    while True:
        recursion(30)
        sorts(40)
        generators(30)
        exceptions(20)
        objects(20)
        fresh(2)
        natives(300)
        if time.monotonic() >= until:
            break

def threaded(until):
    mix(until)

def everything(seconds):
    until = time.monotonic() + seconds
    threads = [threading.Thread(target=threaded, args=(until,)) for _ in range(2)]
    for thread in threads:
        thread.start()
    while True:
        mix(time.monotonic() + 0.05)
        tasks()
        if time.monotonic() >= until:
            break
    for thread in threads:
        thread.join()

def deep(n):
    if n:
        return deep(n - 1)
    end = time.monotonic() + 0.3
    while time.monotonic() < end:
        leaf_a(50)

def who(code):
    return "%s\t%s" % (code.co_filename, getattr(code, "co_qualname", code.co_name))

def observe(path):
    """Which function calls which, from which line."""
    edges = set()
    def on_event(frame, event, argument):
        if event == "call" and frame.f_back is not None:
            caller = frame.f_back
            edges.add((who(caller.f_code), caller.f_lineno, who(frame.f_code)))
    threading.setprofile(on_event)
    sys.setprofile(on_event)
    for _ in range(6):
        everything(0.05)
    sys.setprofile(None)
    threading.setprofile(None)
    with open(path, "w", encoding="utf-8") as file:
        for caller, line, callee in edges:
            file.write("%s\t%d\t%s\n" % (caller, line, callee))
