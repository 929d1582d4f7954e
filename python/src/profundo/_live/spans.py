"""Names of stretches of work and of instants, which the samples of a recording know.

Where this process is recorded, the recorder's library is mapped into it, and it is an extension
module besides: see :func:`connect`. Its spans are made in some hundred nanoseconds. Where nothing
records, a span is a small object that does nothing.
"""

from __future__ import annotations

import os
import sys
from _thread import RLock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from functools import partial
    from typing import Any, Callable, Dict, List, Optional, Tuple, TypeVar

    F = TypeVar("F", bound=Callable[..., Any])

    class Span:
        """A stretch of work with a name: see :func:`span`."""

        def __enter__(self) -> Span: ...

        def __exit__(self, *error: object) -> None: ...

        def __call__(self, function: F, /) -> F: ...

else:
    # All of functools takes longer to import.
    from _functools import partial

    class Span(partial):
        """A span where nothing records. Calling it decorates a function."""

        __slots__ = ()

        def __enter__(self):
            return self

        def __exit__(self, kind, error, trace):
            pass


# The recorder's library, and its name as a module.
_LIBRARY = b"libprofundo-agent-"
_MODULE = "_profundo_spans_1"


def span(name: str, /, **attributes: object) -> Span:
    """Name a stretch of work, and tell it from others by attributes.

        with profundo.span("request", route="/search"):
            answer()

        @profundo.span("render")            # each call; also async def
        def render(): ...

    Spans nest, and what is measured in an inner one counts for the outer one, too. A span belongs
    to the asyncio task (or the thread) that has entered it: other tasks that run meanwhile are not
    in it, and tasks that are created within it are. Attributes are shown by ``str``. Take few
    different values: the route of a request and not its number.

    ``profundo report FILE spans`` lists them, and ``--span NAME`` looks into one. Where nothing
    records, this takes next to no time, and attributes are not looked at.
    """
    made: Span = _new(name, attributes)
    return made


def mark(name: str, /) -> None:
    """Name this instant: ``profundo.mark("epoch 3")``."""
    _mark(name)


def _decorate_later(name: str, attributes: Dict[str, object], function: Any) -> Any:
    """Decorate a function while nothing records: each call asks again."""

    def again() -> Any:
        return _new(name, attributes)

    return _decorated(again, function)


def _decorate(made: Any, function: Any) -> Any:
    """Decorate a function with a span of the recorder's."""
    again = _again

    def another() -> Any:
        return again(made)

    return _decorated(another, function)


def _decorated(again: Callable[[], Any], function: Any) -> Any:
    """A function that is in a new span during each call."""
    if isinstance(function, (staticmethod, classmethod)):
        return type(function)(_decorated(again, function.__func__))
    if isinstance(function, type) or not callable(function):
        raise TypeError("a span decorates a function, and no %s" % type(function).__name__)
    flags = getattr(getattr(function, "__code__", None), "co_flags", 0)
    # CO_COROUTINE, CO_ASYNC_GENERATOR and CO_GENERATOR.
    if flags & 0x80:
        wrapper = _awaited(again, function)
    elif flags & 0x200:
        wrapper = _async_steps(again, function)
    elif flags & 0x20:
        wrapper = _steps(again, function)
    else:
        wrapper = _called(again, function)
    from functools import update_wrapper

    return update_wrapper(wrapper, function)


def _called(again: Callable[[], Any], function: Any) -> Any:
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        with again():
            return function(*args, **kwargs)

    return wrapper


def _awaited(again: Callable[[], Any], function: Any) -> Any:
    async def wrapper(*args: Any, **kwargs: Any) -> Any:
        with again():
            return await function(*args, **kwargs)

    return wrapper


def _steps(again: Callable[[], Any], function: Any) -> Any:
    """A generator function that is in a new span from its first step to its end.

    While it is suspended, its caller is not in the span.
    """

    def wrapper(*args: Any, **kwargs: Any) -> Any:
        items = function(*args, **kwargs)
        made = again()
        with made:
            if type(made) is Span:
                return (yield from items)
            step, sent = items.send, None
            while True:
                try:
                    item = step(sent)
                except StopIteration as end:
                    return end.value
                _pause(made)
                try:
                    sent = yield item
                except GeneratorExit:
                    _resume(made)
                    items.close()
                    raise
                except BaseException as error:
                    _resume(made)
                    step, sent = items.throw, error
                else:
                    _resume(made)
                    step = items.send

    return wrapper


def _async_steps(again: Callable[[], Any], function: Any) -> Any:
    """As :func:`_steps`, for an asynchronous generator function."""

    async def wrapper(*args: Any, **kwargs: Any) -> Any:
        items = function(*args, **kwargs)
        made = again()
        with made:
            try:
                step = items.__anext__()
                while True:
                    try:
                        item = await step
                    except StopAsyncIteration:
                        return
                    _pause(made)
                    try:
                        sent = yield item
                    except GeneratorExit:
                        _resume(made)
                        raise
                    except BaseException as error:
                        _resume(made)
                        step = items.athrow(error)
                    else:
                        _resume(made)
                        step = items.asend(sent)
            finally:
                await items.aclose()

    return wrapper


def _mark_nothing(name: str) -> None:
    pass


def _nothing(made: Any) -> Any:
    """What the recorder replaces: its spans, and no others, are made again, paused and resumed."""


def _nothing_to_flush() -> None:
    pass


# No function of Python's own, whose call would take half as long again.
_idle: Any = partial(Span, _decorate_later)  # type: ignore[call-arg]

#: Held while functions of a library are adopted. A signal's handler may do so, too.
_adopting = RLock()

#: The library whose functions are used, where this process has loaded it.
_connected: Any = None

_new = _idle
_mark = _mark_nothing
_again = _pause = _resume = _nothing
_flush = _nothing_to_flush


def library() -> Optional[str]:
    """The file of the recorder's library, if it is mapped into this process."""
    for _, inode, path in _mapped():
        try:
            # Another file of that name would be loaded beside the first one.
            if os.stat(path).st_ino == inode:
                return path
        except OSError:
            pass
    return None


def _mapped() -> List[Tuple[int, int, str]]:
    """The mappings of recorders' libraries: the address, the inode and the path of each."""
    try:
        with open("/proc/self/maps", "rb") as maps:
            lines = [line for line in maps if _LIBRARY in line]
    except OSError:
        return []
    found = []
    for line in lines:
        # Addresses, rights, offset, device, inode, path.
        fields = line.rstrip(b"\n").split(None, 5)
        address = int(fields[0].partition(b"-")[0], 16)
        found.append((address, int(fields[4]), os.fsdecode(fields[-1])))
    return found


def _loaders_name() -> Optional[str]:
    """What the loader calls a library that a recorder has brought in later: its file has no name.

    The loader compares names before it opens a file, so it finds the library by this one.
    """
    unnamed = [address for address, _, path in _mapped() if path.startswith("/memfd:")]
    if not unnamed:
        return None
    try:
        import ctypes

        class Info(ctypes.Structure):
            _fields_ = [
                ("file", ctypes.c_char_p),
                ("address", ctypes.c_void_p),
                ("symbol", ctypes.c_char_p),
                ("symbol_address", ctypes.c_void_p),
            ]

        info = Info()
        is_known = ctypes.CDLL(None).dladdr(ctypes.c_void_p(unnamed[0]), ctypes.byref(info))
    except (ImportError, OSError, AttributeError):
        return None
    return os.fsdecode(info.file) if is_known and info.file else None


def connect() -> bool:
    """Record spans from now on, if this process is recorded. Whether they are.

    The library may be one that this process has loaded by itself (:mod:`.agent`).

    The library is loaded already. So the interpreter, asked to load it as an extension module, only
    looks its functions up.
    """
    global _connected
    agent = sys.modules.get(f"{__package__}.agent")
    loaded = None if agent is None else agent.loaded()
    if _connected is not None and _connected is loaded:
        return True
    if loaded is None:
        path = library()
        if path is None and _again is _nothing:
            path = _loaders_name()
        if path is None or _again is not _nothing:
            return path is not None
        from _frozen_importlib import ModuleSpec
        from _imp import create_dynamic

        try:
            module = create_dynamic(ModuleSpec(_MODULE, None, origin=path))
        except (ImportError, OSError, SystemError):
            return False
        finally:
            sys.modules.pop(_MODULE, None)
    else:
        try:
            module = agent.module("PyInit_" + _MODULE)
        except (AttributeError, SystemError):
            # The command is of another version than this package, or its library does not know
            # this interpreter.
            return False
    _connected = loaded
    return adopt(module)


def adopt(module: Any) -> bool:
    """Record spans by the functions of a recorder's library. Whether that can be.

    A recorder that comes into this process (``profundo attach --inside``) calls it, too.
    """
    global _new, _mark, _again, _pause, _resume, _flush
    # Without the interpreter's lock, two threads may come here at once.
    with _adopting:
        if not module.connect(_idle, _decorate):
            return False
        _pause, _resume = module.pause, module.resume
        _again, _mark, _new = module.again, module.mark, module.new
        _flush = getattr(module, "flush", _flush)
    return True


def flush() -> None:
    """Have the recorder know of all spans until now: some of them are added up here first."""
    _flush()


connect()
