"""``%memit``: the peak of memory of a statement, and its increment, as memory_profiler has them."""

from __future__ import annotations

import contextlib
import gc
import os
import threading
from typing import TYPE_CHECKING, Any, Callable, Iterator, List, Optional

from IPython.core.error import UsageError

from .options import Given, number

if TYPE_CHECKING:
    from .._live.memory import Memory

#: The time between two readings of the memory of children, in seconds.
_PAUSE = 0.001


def memit(shell: Any, given: Given, rest: str, cell: Optional[str]) -> Optional[Memory]:
    """Measure a statement, or a cell with its setup."""
    from .. import memit as measured

    statement, setup = (rest, "") if cell is None else (cell, rest)
    if not statement.strip():
        raise UsageError("%memit needs a statement")
    run = _runner(shell, statement)
    if setup:
        _runner(shell, setup)()
    # What is garbage already is not the statement's.
    gc.collect()
    with_children = "-c" in given
    uses = [
        _with_children(run) if with_children else measured(run)
        for _ in range(number(given, "-r", int, 1))
    ]
    best = min(uses, key=lambda use: use.peak)
    # Later runs have what the first has left.
    best.before = uses[0].before
    if "-q" not in given:
        print(best)
    return best if "-o" in given else None


def _runner(shell: Any, text: str) -> Callable[[], None]:
    code = shell.compile(shell.transform_cell(text), "<memit>", "exec")

    def run() -> None:
        exec(code, shell.user_global_ns, shell.user_ns)

    return run


def _with_children(run: Callable[[], None]) -> Memory:
    """The memory of this process and of its children together, read each millisecond."""
    from .._live.memory import Memory

    before = _resident()
    with _watched() as most:
        run()
    after = _resident()
    return Memory(before, max(most[0], before, after), after, None, True)


def _resident() -> int:
    """The resident memory of this process and of all below it."""
    processes = [os.getpid()] + _children(os.getpid())
    return sum(map(_resident_of, processes))


def _resident_of(process: int) -> int:
    try:
        with open(f"/proc/{process}/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, IndexError):
        # It has ended.
        return 0


def _children(process: int) -> List[int]:
    """The children of a process, and theirs."""
    found: List[int] = []
    try:
        for task in os.listdir(f"/proc/{process}/task"):
            with open(f"/proc/{process}/task/{task}/children") as file:
                found += map(int, file.read().split())
    except OSError:
        pass
    return found + [below for child in found for below in _children(child)]


@contextlib.contextmanager
def _watched() -> Iterator[List[int]]:
    """The most memory meanwhile, which a thread reads."""
    most = [_resident()]
    is_over = threading.Event()

    def watch() -> None:
        while not is_over.wait(_PAUSE):
            most[0] = max(most[0], _resident())

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield most
    finally:
        is_over.set()
        thread.join()
