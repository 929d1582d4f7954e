"""Functions with something before and after each call: also generators and ``async def``."""

from __future__ import annotations

import sys
from functools import partial, wraps

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType
    from typing import Any, Callable, Dict, Generator, Optional, TypeVar

    F = TypeVar("F", bound=Callable[..., Any])

    Enter = Callable[[], Any]
    Leave = Callable[[Any], None]

#: Flags of code objects, as `inspect` names them.
_GENERATOR, _COROUTINE, _ASYNC_GENERATOR = 0x20, 0x80, 0x200


def inner_of(function: Any) -> Any:
    """The function within methods, properties and partial calls."""
    while True:
        for name in ("__func__", "func", "fget"):
            below = getattr(function, name, None)
            if below is not None and not hasattr(function, "__code__"):
                function = below
                break
        else:
            return function


def name_of(function: Any) -> str:
    """The name of a function, as a report shows it."""
    name = getattr(inner_of(function), "__qualname__", None)
    return type(function).__name__ if name is None else str(name).replace("<locals>.", "")


def code_of(function: Any) -> Optional[CodeType]:
    """The code that a call runs; ``None`` where it is not Python."""
    inner = inner_of(function)
    while hasattr(inner, "__wrapped__"):
        inner = inner_of(inner.__wrapped__)
    return getattr(inner, "__code__", None)


def profile_of(decorated: Any) -> Any:
    """What :func:`decorated` has put on a function, within methods and properties."""
    while not hasattr(decorated, "profile"):
        within = getattr(decorated, "__func__", None) or getattr(decorated, "fget", None)
        if within is None:
            return None
        decorated = within
    return decorated.profile


def decorated(
    function: F, enter: Enter, leave: Leave, attributes: Dict[str, Any], by_step: bool = False
) -> F:
    """The function, each call of which lies between ``enter`` and ``leave``.

    A generator enters whenever it goes on, and leaves whenever it yields. So does ``async def`` if
    ``by_step`` says so; otherwise it leaves at its end. What ``staticmethod``, ``classmethod`` and
    ``property`` hold is decorated within them.

    Raises:
        TypeError: It cannot be called.
    """
    again: Any = function
    if isinstance(again, (staticmethod, classmethod)):
        within: Any = decorated(again.__func__, enter, leave, attributes, by_step)
        return type(again)(within)  # type: ignore[return-value]
    if isinstance(again, property):

        def part(one: Any) -> Any:
            return one and decorated(one, enter, leave, attributes, by_step)

        inner = property(part(again.fget), part(again.fset), part(again.fdel), again.__doc__)
        return inner  # type: ignore[return-value]
    if isinstance(function, type) or not callable(function):
        raise TypeError(f"a function can be decorated, not {function!r}")
    wrapper = _wrapper(function, enter, leave, by_step)
    for name, value in attributes.items():
        setattr(wrapper, name, value)
    return wrapper  # type: ignore[no-any-return]


def _wrapper(function: Any, enter: Enter, leave: Leave, by_step: bool) -> Any:
    flags = _flags(function)
    if flags & _COROUTINE and by_step:

        @wraps(function)
        async def of_steps(*args: Any, **kwargs: Any) -> Any:
            return await _Steps(function(*args, **kwargs), enter, leave)

        return of_steps
    if flags & _COROUTINE:

        @wraps(function)
        async def of_coroutine(*args: Any, **kwargs: Any) -> Any:
            entry = enter()
            try:
                return await function(*args, **kwargs)
            finally:
                leave(entry)

        return of_coroutine
    if flags & _ASYNC_GENERATOR:

        @wraps(function)
        async def of_async_generator(*args: Any, **kwargs: Any) -> Any:
            inner = function(*args, **kwargs)
            step: Any = inner.__anext__
            value: Any = ()
            try:
                while True:
                    try:
                        got = await _Steps(step(*value), enter, leave)
                    except StopAsyncIteration:
                        return
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
    if flags & _GENERATOR:

        @wraps(function)
        def of_generator(*args: Any, **kwargs: Any) -> Any:
            return (yield from _steps(function(*args, **kwargs), enter, leave))

        return of_generator

    @wraps(function)
    def of_function(*args: Any, **kwargs: Any) -> Any:
        entry = enter()
        try:
            return function(*args, **kwargs)
        finally:
            leave(entry)

    return of_function


def _steps(inner: Any, enter: Enter, leave: Leave) -> Generator[Any, Any, Any]:
    """A generator that goes on, step by step, between ``enter`` and ``leave``."""
    step: Any = inner.__next__
    value: Any = ()
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
                sent = yield got
                # Not every iterator can be sent something.
                step, value = (inner.__next__, ()) if sent is None else (inner.send, (sent,))
            except GeneratorExit:
                raise
            except BaseException as error:
                if not hasattr(inner, "throw"):
                    raise
                step, value = inner.throw, (error,)
    finally:
        close = getattr(inner, "close", None)
        if close is not None:
            close()


class _Steps:
    """What is awaited, step by step between ``enter`` and ``leave``."""

    def __init__(self, awaited: Any, enter: Enter, leave: Leave) -> None:
        self._awaited = awaited
        self._enter = enter
        self._leave = leave

    def __await__(self) -> Generator[Any, Any, Any]:
        return _steps(self._awaited.__await__(), self._enter, self._leave)


def _flags(function: Any) -> int:
    """The flags of the code that a call runs."""
    inspect = sys.modules.get("inspect")
    if inspect is not None and inspect.iscoroutinefunction(function):
        # It may be one that `inspect.markcoroutinefunction` has marked.
        return _COROUTINE
    while isinstance(function, partial):
        function = function.func
    code = getattr(getattr(function, "__func__", function), "__code__", None)
    return getattr(code, "co_flags", 0)
