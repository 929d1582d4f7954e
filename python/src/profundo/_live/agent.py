"""The agent in this process, and the recorder beside it.

The agent is a library that this process loads once. It starts the recorder so that no ``wait`` of
the program finds it, enters the recorder's session and leaves it.
"""

from __future__ import annotations

import os
import threading

from .. import _binary, _command
from .._error import Error, NoProcess

TYPE_CHECKING = False
if TYPE_CHECKING:
    import ctypes
    from typing import Any, List, Optional, Tuple

#: The library of an installed package, beside the package's modules.
_LIBRARY = os.path.join(
    os.path.dirname(os.path.dirname(__file__)), "_agent", "libprofundo-agent.so"
)

#: The name by which other commands of ours know the loaded library.
_NAME = "libprofundo-agent-door"

#: The parts of the agent in the interpreter: allocations, and counts.
_MEMORY, _COUNTS = 1, 2

#: The environment that would load an agent into the recorder itself.
_NOT_INHERITED = ("LD_PRELOAD", "PROFUNDO_SESSION")

_lock = threading.Lock()
_loaded: Optional[ctypes.CDLL] = None
_found: Optional[Tuple[Any, Any, Any]] = None


def start(arguments: List[str], socket: int, loaded: Optional[str] = None) -> int:
    """Start the command beside this process. It has the socket as its descriptor 3, and no other.

    Args:
        loaded: The file of a library that another recorder has loaded into this process: its
            functions are used then.

    Returns:
        Its process id.

    Raises:
        NoProcess: No process may be started.
        Error: It cannot be started.
    """
    import ctypes

    library = _library() if loaded is None else _prepared(ctypes.CDLL(loaded))
    binary = os.fsencode(_binary.find())
    words = [binary] + [os.fsencode(word) for word in arguments]
    variables = [
        os.fsencode(name) + b"=" + os.fsencode(value)
        for name, value in os.environ.items()
        if name not in _NOT_INHERITED
    ]

    def strings(texts: List[bytes]) -> ctypes.Array[ctypes.c_char_p]:
        return (ctypes.c_char_p * (len(texts) + 1))(*texts)

    pid = library.profundo_recorder_1(binary, strings(words), strings(variables), socket)
    if pid < 0:
        why = os.strerror(-pid)
        kind = NoProcess if -pid in _command.REFUSALS else Error
        raise kind(f"cannot start {os.fsdecode(binary)}: {why}", None, ("profundo", *arguments))
    return int(pid)


def join(directory: bytes, agent: bytes) -> int:
    """Enter the session in a directory. Returns 0, or a negative error number."""
    return int(_library().profundo_join_1(directory, agent))


def follow_memory(counts: bool) -> None:
    """Record allocations from now on: those of native code, and those of the interpreter.

    Args:
        counts: As for :func:`count_new`.

    Raises:
        Error: It cannot be done.
    """
    library = _library()
    # Finding these allocates. The second one is called with the lock of the interpreter.
    count, begin = library.profundo_count_1, _with_lock().profundo_begin_parts_1
    why = library.profundo_follow_1()
    if why == 0:
        if not counts:
            count(0)
        why = begin(_MEMORY)
    if why < 0:
        raise Error(f"allocations cannot be recorded in this process ({why})")


def forget_memory() -> None:
    """Record allocations of the interpreter no more."""
    _with_lock().profundo_end_parts_1(_MEMORY)


def count_new(counts: bool) -> None:
    """Whether new blocks are counted, where each one is."""
    _library().profundo_count_1(int(counts))


def regions() -> Optional[ctypes.Array[ctypes.c_uint32]]:
    """The two words that this process shares with its recorder: one more than the number of open
    regions, and whether the recorder has paused because none was. They are there until :func:`part`.
    """
    import ctypes

    address = _library().profundo_regions_1()
    return (ctypes.c_uint32 * 2).from_address(address) if address else None


def begin_counts(flags: int) -> int:
    """Count in the interpreter from now on. Returns 0, or a number that says why not.

    Args:
        flags: What is counted, as the recorder says it.
    """
    return int(_counts()[0](flags))


def cut_counts(flags: int) -> int:
    """Cut off what was counted until now, and count on. No thread runs Python in between.

    Returns:
        As :func:`begin_counts`.
    """
    return int(_counts()[2](flags))


def end_counts() -> None:
    """Count no more."""
    _counts()[1](_COUNTS)


def _counts() -> Tuple[Any, Any, Any]:
    """The functions that begin, end and cut counting: found once, because finding them calls others."""
    global _found
    if _found is None:
        library = _with_lock()
        _found = (
            library.profundo_begin_counts_1,
            library.profundo_end_parts_1,
            library.profundo_cut_counts_1,
        )
    return _found


def alone(period: int) -> None:
    """Begin to record this process by itself, without a recorder: see :mod:`.alone`.

    Args:
        period: Nanoseconds of CPU time between two samples of a thread.

    Raises:
        Error: It cannot be done.
    """
    import ctypes

    why = _library().profundo_alone_1(ctypes.c_uint64(period))
    if why < 0:
        raise Error(f"this process cannot record itself: {os.strerror(-why)}")


def open_regions(count: int) -> None:
    """So many regions are open in this process, which records itself."""
    _library().profundo_open_1(count)


def began() -> int:
    """When this process began to record itself, in nanoseconds since 1970."""
    import ctypes

    function = _library().profundo_began_1
    function.restype = ctypes.c_uint64
    return int(function())


def keep(descriptor: int) -> None:
    """Write all that this process has recorded by itself to a file, behind what is there.

    Raises:
        Error: It cannot be written.
    """
    why = _library().profundo_keep_1(descriptor)
    if why < 0:
        raise Error(f"what was recorded cannot be written: {os.strerror(-why)}")


def part() -> None:
    """Leave the session."""
    _library().profundo_part_1()


def loaded() -> Optional[ctypes.CDLL]:
    """The library, if it is loaded."""
    return _loaded


def module(initializer: str) -> Any:
    """The extension module that the library also is, made by this function of its."""
    import ctypes

    function = getattr(_with_lock(), initializer)
    function.restype = ctypes.py_object
    function.argtypes = []
    return function()


def _with_lock() -> ctypes.PyDLL:
    """The library, whose functions are called with the interpreter's lock held."""
    import ctypes

    return ctypes.PyDLL(_NAME, handle=_library()._handle)


def _library() -> ctypes.CDLL:
    """The agent's library, loaded."""
    global _loaded
    with _lock:
        if _loaded is None:
            try:
                _loaded = _prepared(_load(_path()))
            except OSError as error:
                raise Error(f"cannot load the agent: {error}") from None
            except NoProcess as error:
                # One that was installed with pip lies beside this file.
                raise Error(f"cannot load the agent, which the command has: {error}") from None
        return _loaded


def _prepared(library: ctypes.CDLL) -> ctypes.CDLL:
    """The library, whose functions know the types of their arguments."""
    import ctypes

    strings = ctypes.POINTER(ctypes.c_char_p)
    library.profundo_recorder_1.argtypes = [ctypes.c_char_p, strings, strings, ctypes.c_int]
    library.profundo_join_1.argtypes = [ctypes.c_char_p, ctypes.c_char_p]
    library.profundo_part_1.argtypes = []
    library.profundo_regions_1.restype = ctypes.c_void_p
    return library


def _load(path: str) -> ctypes.CDLL:
    """Load a library from a file without a name, as ``profundo attach`` does, which finds it then."""
    import ctypes

    if not hasattr(os, "memfd_create"):
        return ctypes.CDLL(path)
    with open(path, "rb") as file:
        content = memoryview(file.read())
    unnamed = os.memfd_create(_NAME)
    try:
        while content:
            content = content[os.write(unnamed, content) :]
        # The loader takes files of the same path for one, and other commands use /proc/self.
        return ctypes.CDLL(f"/proc/{os.getpid()}/fd/{unnamed}")
    finally:
        os.close(unnamed)


def _path() -> str:
    """The path of the library that belongs to the command."""
    if os.path.exists(_LIBRARY) and _binary.belongs_here(_binary.find()):
        return _LIBRARY
    return _command.text(["beside", "--library"]).rstrip("\n")
