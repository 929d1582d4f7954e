"""The label that a region puts on samples: a span with the region's name and number.

Numbers are used again, because a recording keeps only so many different ones (``docs/spans.md``).
A region tells its own time from that of an earlier one with its number by the time of day.
"""

from __future__ import annotations

import heapq
import threading
from typing import Any, List

try:
    from .spans import span as _span
except ImportError:
    _span = None  # type: ignore[assignment]

#: The most numbers that a recording tells apart, with some room.
MOST = 1000

_lock = threading.RLock()
_free: List[int] = []
_next = 1


def are_there() -> bool:
    """Whether samples know the label of the region that they are taken in."""
    return _span is not None


def take_number() -> int:
    """The least number that no region has; ``MOST`` is one for all that come after."""
    global _next
    with _lock:
        if _free:
            return heapq.heappop(_free)
        if _next < MOST:
            _next += 1
            return _next - 1
        return MOST


def give_back(number: int) -> None:
    """Nobody asks for this number any more."""
    with _lock:
        if number != MOST:
            heapq.heappush(_free, number)


def enter(name: str, number: int) -> Any:
    """Put a label on the samples of this thread or task; what :func:`leave` needs."""
    if _span is None:
        return None
    label = _span(name, region=number)
    label.__enter__()
    return label


def leave(label: Any) -> None:
    """Take it away."""
    if label is not None:
        label.__exit__(None, None, None)


def selecting(number: int) -> str:
    """The value of ``--span`` for samples with this label."""
    return f"region={number}"
