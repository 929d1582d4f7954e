"""The label that a region puts on samples: a span with the region's name and number.

Numbers are used again, because a recording keeps only so many different ones (``docs/spans.md``).
A region tells its own time from that of an earlier one with its number by the time of day.
"""

from __future__ import annotations

from _thread import RLock
from heapq import heappop, heappush

try:
    from . import spans as _spans
except ImportError:
    _spans = None  # type: ignore[assignment]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, List

#: The most numbers that a recording tells apart, with some room.
MOST = 1000


class _Numbers:
    """Numbers of regions: the least that is free."""

    def __init__(self) -> None:
        self._lock = RLock()
        self._free: List[int] = []
        self._next = 1

    def take(self) -> int:
        """The least number that no region has; ``MOST`` is one for all that come after."""
        with self._lock:
            if self._free:
                return heappop(self._free)
            number = self._next
            self._next = min(number + 1, MOST)
            return number

    def give_back(self, number: int) -> None:
        """Nobody asks for this number any more."""
        with self._lock:
            if number != MOST:
                heappush(self._free, number)


NUMBERS = _Numbers()


#: Whether samples know the label of the region that they are taken in.
_are_known = False


def connect() -> None:
    """A recording has begun: its samples know labels from now on, if its agent can write them."""
    global _are_known
    _are_known = _spans is not None and _spans.connect()


def are_known() -> bool:
    """Whether samples know the label of the region that they are taken in."""
    return _are_known


def flush() -> None:
    """Have the recorder know of all labels until now."""
    if _spans is not None:
        _spans.flush()


def enter(name: str, number: int) -> Any:
    """Put a label on the samples of this thread or task; what :func:`leave` needs."""
    if _spans is None:
        return None
    label = _spans.span(name, region=number)
    label.__enter__()
    return label


def leave(label: Any) -> None:
    """Take it away."""
    if label is not None:
        label.__exit__(None, None, None)


def selecting(number: int) -> str:
    """The value of ``--span`` for samples with this label."""
    return f"region={number}"
