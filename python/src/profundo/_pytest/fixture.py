"""The fixture ``profundo``: regions of a test, with limits of their own."""

from __future__ import annotations

from types import TracebackType
from typing import Any, Optional, Type

import pytest

from .limits import Amount, Limits
from .measure import Stopwatch, Taken


class Measuring:
    """``with profundo("load", max_time="50 ms") as part: …``."""

    def __init__(self, request: Any) -> None:
        self._kinds = request.config.getoption("profundo") or []

    def __call__(
        self,
        name: Optional[str] = None,
        *,
        max_time: Optional[Amount] = None,
        max_memory: Optional[Amount] = None,
        max_leak: Optional[Amount] = None,
    ) -> Part:
        """A part of the test.

        Args:
            name: What it is called in the recording.
            max_time: The most elapsed time, as ``"50 ms"`` or in seconds.
            max_memory: The most memory at once, as ``"24 MB"`` or in bytes.
            max_leak: The most memory that may be left.
        """
        limits = Limits(max_time=max_time, max_memory=max_memory, max_leak=max_leak)
        return Part(name or "part", limits, self._kinds)


class Part:
    """A part of a test, and what it took."""

    def __init__(self, name: str, limits: Limits, kinds: Any) -> None:
        self.name = name
        self._limits = limits
        self._is_on = bool(kinds)
        self._has_memory = "memory" in kinds
        self._region: Any = None
        self._watch: Optional[Stopwatch] = None
        self._taken = Taken()

    def __enter__(self) -> Part:
        if self._is_on:
            import profundo

            self._region = profundo.profile(self.name)
            self._region.__enter__()
        self._watch = Stopwatch(limits=self._limits if self._has_memory else None)
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        assert self._watch is not None
        self._taken = self._watch.end()
        if self._region is not None:
            self._region.__exit__(kind, error, trace)
        broken = self._limits.broken_by(self._taken)
        if self._is_on and error is None and broken:
            pytest.fail("\n".join(f"{self.name}: {one}" for one in broken), pytrace=False)

    @property
    def seconds(self) -> float:
        """Its elapsed time."""
        return self._taken.seconds

    @property
    def cpu_seconds(self) -> float:
        """Its CPU time: of all threads, and of child processes that ended."""
        return self._taken.cpu_seconds

    @property
    def peak(self) -> Optional[int]:
        """The most bytes at once that Python has allocated in it.

        It is counted with ``--profundo=memory`` and a limit of memory, and ``None`` otherwise.
        """
        return self._taken.peak

    @property
    def left(self) -> Optional[int]:
        """The bytes of these that are left; ``None`` where they are not counted."""
        return self._taken.left

    @property
    def profile(self) -> Any:
        """Its profile; ``None`` without ``--profundo``."""
        return self._region
