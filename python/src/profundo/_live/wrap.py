"""Functions with something before and after each call: also generators and ``async def``."""

from __future__ import annotations

import functools
import inspect
from typing import Any, Callable, Dict, TypeVar

F = TypeVar("F", bound=Callable[..., Any])

Enter = Callable[[], Any]
Leave = Callable[[Any], None]


def name_of(function: Any) -> str:
    """The name of a function, as a report shows it."""
    inner = function
    while not hasattr(inner, "__qualname__"):
        below = getattr(inner, "__func__", None) or getattr(inner, "func", None)
        below = below or getattr(inner, "fget", None)
        if below is None:
            return type(function).__name__
        inner = below
    return str(inner.__qualname__).replace("<locals>.", "")


def decorated(function: F, enter: Enter, leave: Leave, attributes: Dict[str, Any]) -> F:
    """The function, each call of which lies between ``enter`` and ``leave``.

    A generator enters whenever it goes on, and leaves whenever it yields. What ``staticmethod``,
    ``classmethod`` and ``property`` hold is decorated within them.

    Raises:
        TypeError: It cannot be called.
    """
    again: Any = function
    if isinstance(again, (staticmethod, classmethod)):
        return type(again)(decorated(again.__func__, enter, leave, attributes))  # type: ignore
    if isinstance(again, property):
        parts = [
            part and decorated(part, enter, leave, attributes)
            for part in (again.fget, again.fset, again.fdel)
        ]
        return property(*parts, doc=again.__doc__)  # type: ignore[return-value]
    if isinstance(function, type) or not callable(function):
        raise TypeError(f"a function can be decorated, not {function!r}")
    wrapper = _wrapper(function, enter, leave)
    for name, value in attributes.items():
        setattr(wrapper, name, value)
    return wrapper


def _wrapper(function: Any, enter: Enter, leave: Leave) -> Any:
    if inspect.iscoroutinefunction(function):

        @functools.wraps(function)
        async def of_coroutine(*args: Any, **kwargs: Any) -> Any:
            entry = enter()
            try:
                return await function(*args, **kwargs)
            finally:
                leave(entry)

        return of_coroutine
    if inspect.isasyncgenfunction(function):

        @functools.wraps(function)
        async def of_async_generator(*args: Any, **kwargs: Any) -> Any:
            inner = function(*args, **kwargs)
            step, value = inner.__anext__, ()
            try:
                while True:
                    entry = enter()
                    try:
                        got = await step(*value)
                    except StopAsyncIteration:
                        return
                    finally:
                        leave(entry)
                    try:
                        value = ((yield got),)
                        step = inner.asend
                    except GeneratorExit:
                        raise
                    except BaseException as error:
                        step, value = inner.athrow, (error,)
            finally:
                await inner.aclose()

        return of_async_generator
    if inspect.isgeneratorfunction(function):

        @functools.wraps(function)
        def of_generator(*args: Any, **kwargs: Any) -> Any:
            inner = function(*args, **kwargs)
            step, value = inner.__next__, ()
            try:
                while True:
                    entry = enter()
                    try:
                        got = step(*value)
                    except StopIteration as end:
                        return end.value
                    finally:
                        leave(entry)
                    try:
                        value = ((yield got),)
                        step = inner.send
                    except GeneratorExit:
                        raise
                    except BaseException as error:
                        step, value = inner.throw, (error,)
            finally:
                inner.close()

        return of_generator

    @functools.wraps(function)
    def of_function(*args: Any, **kwargs: Any) -> Any:
        entry = enter()
        try:
            return function(*args, **kwargs)
        finally:
            leave(entry)

    return of_function
