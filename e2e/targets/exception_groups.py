"""Raises groups of exceptions whose ends are known; `exceptions.py` explains the marks."""

import asyncio
import sys


def raises(count):
    for number in range(count):
        try:
            raise ExceptionGroup("some", [ValueError(number), KeyError(number)])  #: 5 ExceptionGroup -> whole
        except* (ValueError, KeyError):  #: at whole
            pass


def single():
    try:
        raise ValueError  #: 1 ValueError -> alone
    except* ValueError:  #: at alone
        pass


def unmatched():
    try:
        raise ExceptionGroup("some", [ValueError(), KeyError()])  #: 3 ExceptionGroup -> after
    except* OSError:
        pass


def groups():
    raises(5)
    single()
    for _ in range(3):
        try:
            unmatched()
        except ExceptionGroup:  #: at after
            pass


async def fails():
    await asyncio.sleep(0)
    raise OSError  #: 2 OSError -> unseen


async def main():
    try:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(fails())
            tasks.create_task(fails())
    except* OSError:
        print("groups")


groups()
asyncio.run(main())
try:
    sys.exit()  #: 1 SystemExit -> caught
except SystemExit as end:  #: at caught
    print(repr(end))
