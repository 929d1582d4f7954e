"""Calls of one function from every kind of code there is, each on a line that says which function it
is in: `# NAME`, or `# NAME before 3.12 | NAME since` where comprehensions became part of theirs.

usage: callers.py [profile|trace|both]        with hooks of the interpreter's
"""
import asyncio
import contextlib
import ctypes
import functools
import gc
import sys
import threading
import time

clock = time.thread_time


def burn(value=None, *more):
    end = clock() + 0.012
    while clock() < end:
        for _ in range(40):
            pass
    return value


def plain():
    burn()  # plain


def after_many_lines():
    a = 1



    b = [
        a,
        2,
    ]
    if b and \
            a:
        burn(  # after_many_lines
            a,
            b,
        )


def nested_calls():
    str(
        len(
            [burn()]  # nested_calls
        )
    )


def conditional():
    return 1 if burn() else 2  # conditional


def keyword(value=3):
    return dict(a=1,
                b=burn(value))  # keyword


def in_f_string():
    return f"{burn()!r:>10}"  # in_f_string


def raises():
    try:
        raise ValueError(burn())  # raises
    except ValueError:
        burn()  # raises
    finally:
        burn()  # raises


def deep_exception():
    def down(n):
        if n == 0:
            raise KeyError
        try:
            down(n - 1)
        finally:
            if n == 7:
                burn()  # deep_exception.<locals>.down

    with contextlib.suppress(KeyError):
        down(40)


def with_statement():
    @contextlib.contextmanager
    def manager():
        burn()  # with_statement.<locals>.manager
        yield
        burn()  # with_statement.<locals>.manager

    with manager():
        burn()  # with_statement


def loops():
    n = 0
    while n < 1:
        n += 1
        for _ in [burn()]:  # loops
            continue
    else:
        burn()  # loops


def comprehensions():
    [burn() for _ in range(1)]  # comprehensions.<locals>.<listcomp> | comprehensions
    {burn() for _ in range(1)}  # comprehensions.<locals>.<setcomp> | comprehensions
    {burn(): 1 for _ in range(1)}  # comprehensions.<locals>.<dictcomp> | comprehensions
    list(burn() for _ in range(1))  # comprehensions.<locals>.<genexpr>
    [
        [
            burn()  # comprehensions.<locals>.<listcomp>.<listcomp> | comprehensions
            for _ in range(1)
        ]
        for _ in range(1)
    ]


def lambdas():
    call = lambda: burn()  # lambdas.<locals>.<lambda>
    call()
    sorted([1], key=lambda value: burn(value))  # lambdas.<locals>.<lambda>
    list(map(lambda value: burn(value), [1]))  # lambdas.<locals>.<lambda>
    functools.reduce(lambda a, b: burn(a), [1, 2])  # lambdas.<locals>.<lambda>


def decorated_with(function):
    @functools.wraps(function)
    def wrapper(*args):
        burn()  # decorated_with.<locals>.wrapper
        return function(*args)

    return wrapper


@decorated_with
@decorated_with
def decorated():
    burn()  # decorated


@functools.lru_cache(maxsize=None)
def cached(n):
    return burn(n)  # cached


class Thing:
    def __init__(self):
        burn()  # Thing.__init__

    def method(self):
        burn()  # Thing.method

    @property
    def worth(self):
        return burn(1)  # Thing.worth

    @classmethod
    def made(cls):
        return burn(cls)  # Thing.made

    @staticmethod
    def static():
        burn()  # Thing.static

    def __eq__(self, other):
        return burn(True)  # Thing.__eq__

    def __getattr__(self, name):
        return burn(1)  # Thing.__getattr__

    def __call__(self):
        burn()  # Thing.__call__

    def __iter__(self):
        yield burn(1)  # Thing.__iter__

    def __del__(self):
        burn()  # Thing.__del__

    def __enter__(self):
        burn()  # Thing.__enter__

    def __exit__(self, *why):
        burn()  # Thing.__exit__

    class Inner:
        def method(self):
            burn()  # Thing.Inner.method


def methods():
    thing = Thing()
    thing.method()
    thing.worth
    Thing.made()
    thing.static()
    thing == 3
    thing.missing
    thing()
    list(thing)
    with thing:
        pass
    Thing.Inner().method()
    del thing
    gc.collect()


def class_body():
    class Local:
        value = burn()  # class_body.<locals>.Local

        def method(self):
            burn()  # class_body.<locals>.Local.method

    Local().method()


def generators():
    def inner():
        yield burn()  # generators.<locals>.inner
        got = yield
        burn(got)  # generators.<locals>.inner
        return 1

    def outer():
        value = yield from inner()
        burn(value)  # generators.<locals>.outer

    generator = outer()
    next(generator)
    next(generator)
    try:
        generator.send(2)
    except StopIteration:
        pass

    def closed():
        try:
            yield
        finally:
            burn()  # generators.<locals>.closed

    generator = closed()
    next(generator)
    generator.close()


def coroutines():
    async def inner():
        burn()  # coroutines.<locals>.inner
        await asyncio.sleep(0)
        burn()  # coroutines.<locals>.inner
        return 1

    async def counted():
        for n in range(2):
            yield burn(n)  # coroutines.<locals>.counted

    class Manager:
        async def __aenter__(self):
            burn()  # coroutines.<locals>.Manager.__aenter__

        async def __aexit__(self, *why):
            burn()  # coroutines.<locals>.Manager.__aexit__

    async def outer():
        await inner()
        async for _ in counted():
            pass
        async with Manager():
            burn()  # coroutines.<locals>.outer
        await asyncio.gather(inner(), inner())
        return [await inner() for _ in range(1)]

    asyncio.run(outer())


CALLBACK = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_int), ctypes.POINTER(ctypes.c_int))


@CALLBACK
def compare(a, b):
    burn()  # compare
    return a[0] - b[0]


def callbacks():
    values = (ctypes.c_int * 2)(2, 1)
    ctypes.CDLL(None).qsort(values, 2, ctypes.sizeof(ctypes.c_int), compare)

    def key(value):
        return burn(value)  # callbacks.<locals>.key

    min([1, 2], key=key)
    max((1,), key=functools.partial(key))
    dict.fromkeys(map(key, [1]))


def made_by_exec():
    space = {"burn": burn}
    # Each is freed before the next is made, and takes its place.
    for n in range(4):
        exec(f"\n" * n + f"def made_{n}():\n    burn()\n", space)
        space.pop(f"made_{n}")()
    eval("burn()", {"burn": burn})


def recursion(n=300):
    if n:
        return recursion(n - 1)
    return burn()  # recursion


def many_locals():
    v0, v1, v2, v3, v4, v5, v6, v7 = range(8)
    def inner():
        return burn(v0 + v1), v2, v3, v4, v5, v6, v7  # many_locals.<locals>.inner
    inner()


def starred(*args, **options):
    return burn(*args, **options)  # starred


def in_thread():
    def target():
        burn()  # in_thread.<locals>.target

    thread = threading.Thread(target=target)
    thread.start()
    thread.join()


def far_below():
    # A line table with great steps.
    x = 0







































































































































    burn(x)  # far_below


def with_an_overly_long_name_that_is_longer_than_any_name_that_a_person_would_give_to_a_function_of_hers_äöü():
    burn()  # with_an_overly_long_name_that_is_longer_than_any_name_that_a_person_would_give_to_a_function_of_hers_äöü


def main():
    sys.setrecursionlimit(5000)
    for _ in range(2):
        plain()
        after_many_lines()
        nested_calls()
        conditional()
        keyword()
        in_f_string()
        raises()
        deep_exception()
        with_statement()
        loops()
        comprehensions()
        lambdas()
        decorated()
        cached(1)
        methods()
        class_body()
        generators()
        coroutines()
        callbacks()
        made_by_exec()
        recursion()
        many_locals()
        starred(1)
        in_thread()
        far_below()
        with_an_overly_long_name_that_is_longer_than_any_name_that_a_person_would_give_to_a_function_of_hers_äöü()
    burn()  # main


def hook(frame, event, argument):
    return hook


how = sys.argv[1] if len(sys.argv) > 1 else ""
if how in ("profile", "both"):
    sys.setprofile(hook)
    threading.setprofile(hook)
if how in ("trace", "both"):
    sys.settrace(hook)
    threading.settrace(hook)
main()
sys.setprofile(None)
sys.settrace(None)
print("done")
