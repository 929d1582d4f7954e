"""The limits that marks set, and amounts such as "200 ms" and "24 MB"."""

from __future__ import annotations

import re
from typing import Any, Callable, Dict, List, Optional, Union

import pytest

Amount = Union[int, float, str]

_SECONDS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9, "min": 60.0}

#: Units of bytes: as everywhere in Profundo, those without an `i` are powers of 1000.
_BYTES = {"B": 1.0}
_BYTES.update({f"{unit}B": 1000.0 ** (n + 1) for n, unit in enumerate("kMGT")})
_BYTES.update({f"{unit}iB": 1024.0 ** (n + 1) for n, unit in enumerate("KMGT")})
_BYTES["KB"] = _BYTES["kB"]

#: pytest-memray's units are powers of 1024.
_OF_MEMRAY = {unit: 1024.0**n for n, unit in enumerate(("B", "KB", "MB", "GB", "TB", "PB"))}


def seconds(amount: Amount) -> float:
    """A time: a number of seconds, or a text with a unit."""
    return _amount(amount, _SECONDS, "a time such as '200 ms'")


def size(amount: Amount) -> float:
    """A size: a number of bytes, or a text with a unit."""
    return _amount(amount, _BYTES, "a size such as '24 MB'")


def size_of_memray(amount: Amount) -> float:
    """A size as pytest-memray reads it."""
    if isinstance(amount, str):
        amount = amount.upper()
    return _amount(amount, _OF_MEMRAY, "a size such as '24 MB'")


def percent(text: str) -> float:
    """``10%`` or ``10``."""
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*%?\s*", text)
    if match is None:
        raise pytest.UsageError(f"{text!r} is no percentage such as 10%")
    return float(match[1])


def _amount(amount: Any, units: Dict[str, float], what: str) -> float:
    if isinstance(amount, (int, float)) and not isinstance(amount, bool) and amount >= 0:
        return float(amount)
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-zµ]+)\s*", str(amount))
    if match is None or match[2] not in units:
        raise ValueError(f"{amount!r} is not {what}")
    return float(match[1]) * units[match[2]]


#: The names of limits in the mark.
_NAMES = ("max_time", "max_memory", "max_allocations", "max_leak")


class Limits:
    """What a test may take at most. ``None`` is no limit."""

    def __init__(
        self,
        max_time: Optional[Amount] = None,
        max_memory: Optional[Amount] = None,
        max_allocations: Optional[int] = None,
        max_leak: Optional[Amount] = None,
    ) -> None:
        self.time = None if max_time is None else seconds(max_time)
        self.memory = None if max_memory is None else size(max_memory)
        self.allocations = None if max_allocations is None else int(max_allocations)
        self.leak = None if max_leak is None else size(max_leak)
        #: The limit of what one place may leak, and which places count: pytest-memray's.
        self.leak_of_place: Optional[float] = None
        self.counts_place: Optional[Callable[[Any], bool]] = None

    @property
    def count_blocks(self) -> bool:
        """Whether Python has to count its blocks."""
        return self.memory is not None or self.are_of_leaks

    @property
    def are_of_leaks(self) -> bool:
        """Whether what is left at the end counts."""
        return self.leak is not None or self.leak_of_place is not None

    def are_known(self, taken: Any) -> bool:
        """Whether a phase of a test can be compared with all of them."""
        is_counted = taken.peak is not None or taken.blocks is not None
        return not (
            (self.count_blocks and taken.peak is None)
            or (self.allocations is not None and taken.blocks is None)
            or (self.time is not None and is_counted)
        )

    def broken_by(self, taken: Any) -> List[str]:
        """A sentence for each limit that a phase of a test has broken."""
        from .._units import duration, size

        said: List[str] = []
        # Counting takes time that is not the test's.
        is_counted = taken.peak is not None or taken.blocks is not None
        if self.time is not None and not is_counted and taken.seconds > self.time:
            took, limit = duration(taken.seconds), duration(self.time)
            said.append(f"it took {took}, and max_time is {limit}")
        if self.memory is not None and _is_more(taken.peak, self.memory):
            peak, limit = size(taken.peak), size(self.memory)
            said.append(f"it had {peak} allocated at its peak, and the limit is {limit}")
        if _is_more(taken.blocks, self.allocations):
            limit = f"{self.allocations:,}"
            said.append(f"it allocated {taken.blocks:,} times, and max_allocations is {limit}")
        if self.leak is not None and _is_more(taken.left, self.leak):
            left, limit = size(taken.left), size(self.leak)
            said.append(f"it left {left} allocated, and max_leak is {limit}")
        if self.leak_of_place is not None:
            for place, left in taken.places:
                if left > self.leak_of_place:
                    limit = size(self.leak_of_place)
                    said.append(
                        f"it left {size(left)} allocated at {place}, and the limit is {limit}"
                    )
        return said


def _is_more(amount: Any, limit: Any) -> bool:
    return amount is not None and limit is not None and amount > limit


def of_item(item: Any) -> Optional[Limits]:
    """The limits of a test by its marks; the nearest mark of each name counts.

    Raises:
        ValueError, TypeError: A mark has a wrong argument.
    """
    ours = item.get_closest_marker("profundo")
    memory = item.get_closest_marker("limit_memory")
    leaks = item.get_closest_marker("limit_leaks")
    if ours is None and memory is None and leaks is None:
        return None
    if ours is not None and ours.args:
        raise TypeError(f"the limits of the mark profundo have names: {', '.join(_NAMES)}")
    given = {} if ours is None else ours.kwargs
    unknown = [name for name in given if name not in _NAMES]
    if unknown:
        raise TypeError(f"the mark profundo has no {unknown[0]}: it has {', '.join(_NAMES)}")
    limits = Limits(**given)
    plugins = item.config.pluginmanager
    if plugins.hasplugin("memray_manager") or plugins.hasplugin("memray"):
        return limits
    if memory is not None and limits.memory is None:
        limits.memory = size_of_memray(_argument(memory, "memory_limit"))
    if leaks is not None:
        limits.leak_of_place = size_of_memray(_argument(leaks, "location_limit"))
        limits.counts_place = leaks.kwargs.get("filter_fn")
    return limits


def _argument(mark: Any, name: str) -> Any:
    if mark.args:
        return mark.args[0]
    if name in mark.kwargs:
        return mark.kwargs[name]
    raise TypeError(f"the mark {mark.name} has no limit")
