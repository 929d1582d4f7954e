"""What a phase of a test takes: elapsed time, CPU time and memory.

These figures are counted by clocks and by the kernel, and cost some microseconds. The recording
says which lines to blame; it is no part of them.
"""

from __future__ import annotations

import os
import time
from typing import Any, Dict, List, Optional, Tuple

from .limits import Limits
from .traced import Traced


class Taken:
    """What was taken between its beginning and its end. ``None`` is what was not counted."""

    __slots__ = (
        "began",
        "seconds",
        "cpu_seconds",
        "queued_seconds",
        "grown",
        "peak",
        "left",
        "places",
        "blocks",
    )

    def __init__(self) -> None:
        #: By the clock since 1970, which recordings have too.
        self.began = time.time()
        self.seconds = 0.0
        #: CPU time of all threads, and of the child processes that ended meanwhile.
        self.cpu_seconds = 0.0
        #: For how long the thread that runs the test was ready, and other programs had the CPU.
        self.queued_seconds = 0.0
        #: By how many bytes the process has grown at most, in memory (RSS).
        self.grown: Optional[int] = None
        #: The most bytes at once that Python has allocated since the beginning.
        self.peak: Optional[int] = None
        #: The bytes of these that are there at the end, and where they were allocated.
        self.left: Optional[int] = None
        self.places: List[Tuple[str, int]] = []
        #: The number of allocations.
        self.blocks: Optional[int] = None

    def plain(self) -> Dict[str, Any]:
        """As a dictionary that can be sent to another process."""
        return {name: getattr(self, name) for name in self.__slots__ if name != "places"}


class Stopwatch:
    """Measures a phase of a test, or a part of it.

    Args:
        memory: Whether the memory of the process is looked at.
        limits: Those of memory have Python count its blocks meanwhile, which takes time.
    """

    def __init__(self, memory: bool = False, limits: Optional[Limits] = None) -> None:
        self.taken = Taken()
        counts = limits is not None and limits.count_blocks
        self._traced = Traced(limits) if limits is not None and counts else None
        self._memory = _Resident() if memory else None
        self._queued = _queued_seconds()
        self._cpu = _cpu_seconds()
        self._clock = time.perf_counter()

    def end(self) -> Taken:
        """What was taken since it was made."""
        taken = self.taken
        taken.seconds = time.perf_counter() - self._clock
        taken.cpu_seconds = _cpu_seconds() - self._cpu
        taken.queued_seconds = _queued_seconds() - self._queued
        if self._memory is not None:
            taken.grown = self._memory.grown()
        if self._traced is not None:
            taken.peak, taken.left, taken.places = self._traced.end()
        return taken


def _cpu_seconds() -> float:
    times = os.times()
    return time.process_time() + times.children_user + times.children_system


def _queued_seconds() -> float:
    """For how long this thread has waited for a CPU since it began, by the kernel's count."""
    try:
        with open("/proc/thread-self/schedstat", "rb", 0) as file:
            return int(file.read(100).split()[1]) / 1e9
    except (OSError, ValueError, IndexError):
        return 0.0


class _Resident:
    """The memory of this process by the kernel's count, whose peak begins anew."""

    def __init__(self) -> None:
        try:
            with open("/proc/self/clear_refs", "wb", 0) as file:
                file.write(b"5")
            self._line: Optional[bytes] = b"VmHWM:"
        except OSError:
            self._line = None
        self._before = _status(b"VmRSS:")

    def grown(self) -> Optional[int]:
        """By how much it has grown at most; ``None`` where the kernel does not say."""
        if self._line is None or self._before is None:
            return None
        peak = _status(self._line)
        return None if peak is None else max(peak - self._before, 0)


def _status(start: bytes) -> Optional[int]:
    try:
        with open("/proc/self/status", "rb") as file:
            for line in file:
                if line.startswith(start):
                    return int(line.split()[1]) * 1024
    except (OSError, ValueError, IndexError):
        pass
    return None
