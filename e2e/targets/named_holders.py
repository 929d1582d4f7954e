"""Objects that only a variable of something suspended holds, or an item with a key that is no text.

It says `ready`, and waits for the end of its input.
"""

import sys
import types


class OfGenerator:
    pass


class OfCoroutine:
    pass


class OfAsyncGenerator:
    pass


class OfFrame:
    pass


class OfNumber:
    pass


def generator(nothing):
    in_generator = OfGenerator()
    yield nothing
    str(in_generator)


@types.coroutine
def pause():
    yield


async def coroutine():
    in_coroutine = OfCoroutine()
    await pause()
    str(in_coroutine)


async def async_generator():
    in_async_generator = OfAsyncGenerator()
    await pause()
    yield in_async_generator


def fails():
    in_frame = OfFrame()
    raise ValueError(len(str(in_frame)))


first = generator(None)
next(first)
second = coroutine()
second.send(None)
third = async_generator()
step = third.__anext__()
step.send(None)
try:
    fails()
except ValueError as error:
    traceback = error.__traceback__
by_number = {4711: OfNumber(), 2**100: None, -1: None}
# Those that have not begun, and those that have ended, hold nothing.
unbegun = generator([])
ended = generator([])
list(generator([]))
for _ in ended:
    pass
print("ready", flush=True)
sys.stdin.read()
second.close()
