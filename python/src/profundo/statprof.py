"""The interface of statprof: ``start``, ``stop``, ``display``, ``reset``, ``profile``.

    import profundo.statprof as statprof

    with statprof.profile():
        work()

prints statprof's table, of all threads and of native code, too. Nothing of the program changes: no
signal is taken from it.
"""

from __future__ import annotations

import sys
from contextlib import contextmanager

from ._error import Error
from ._live import off
from ._live.config import defaults
from ._live.region import Region

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Iterator, List, Optional, TextIO

    from ._live.region import Entry

__all__ = ["DisplayFormat", "display", "is_active", "profile", "reset", "start", "stop"]


class DisplayFormat:
    """The tables that ``display`` prints."""

    #: A row for each line.
    BY_LINE = 0
    #: A row for each function.
    BY_METHOD = 1


class _State:
    def __init__(self, frequency: Optional[int]) -> None:
        options = defaults().over({"rate": frequency})
        self.region = Region("statprof", options, threads=True)
        self.open: List[Entry] = []
        self.level = 0


_state: Optional[_State] = None


def _here() -> _State:
    global _state
    if _state is None:
        _state = _State(None)
    return _state


def is_active() -> bool:
    """Whether samples are taken: it was started more often than stopped."""
    return _here().level > 0


def start() -> None:
    """Begin to take samples. It may be called again: ``stop`` then has to be, too."""
    state = _here()
    state.level += 1
    if state.level == 1 and not off.IS_OFF:
        state.open.append(state.region._enter())


def stop() -> None:
    """Take no more samples."""
    state = _here()
    state.level = max(state.level - 1, 0)
    if state.level == 0 and state.open:
        state.region._leave(state.open.pop())


def reset(frequency: Optional[int] = None) -> None:
    """Forget all samples. It must not be called between ``start`` and ``stop``.

    Args:
        frequency: Samples per second from now on; 1000 by default.
    """
    global _state
    assert not is_active(), "Can't reset() while statprof is running"
    _state = _State(frequency)


@contextmanager
def profile() -> Iterator[None]:
    """Take samples in a ``with``, then print the table."""
    start()
    try:
        yield
    finally:
        stop()
        display()


def display(
    fp: Optional[TextIO] = None, format: int = DisplayFormat.BY_LINE, **options: Any
) -> None:
    """Print the table.

    Args:
        fp: Where to; ``sys.stdout`` by default.
        format: A constant of :class:`DisplayFormat`.
        options: Those of ``profundo report statprof``.
    """
    fp = sys.stdout if fp is None else fp
    region = _here().region
    if not region.count:
        fp.write("No samples recorded.\n")
        return
    what = "statprof" if format == DisplayFormat.BY_LINE else "functions"
    try:
        table = region.report(what, **options)
    except Error as error:
        fp.write(f"No samples recorded: {error}\n")
        return
    # Its last line says which part of a recording it is, which statprof has not.
    fp.write("".join(line for line in table.splitlines(True) if not line.startswith("Only: ")))
