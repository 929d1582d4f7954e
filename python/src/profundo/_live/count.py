"""Counting the runs of each line of a function, and measuring their time.

From Python 3.12 on, the interpreter reports the lines of this code alone (``sys.monitoring``).
Before, it calls a trace function in threads that are in the function, for the lines of this code.
What the function calls belongs to the line that calls it.
"""

from __future__ import annotations

import sys
from threading import local
from time import perf_counter_ns

from .._error import Error

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType, FrameType
    from typing import Any, Dict, List, Optional

    from .._rows import Line
    from .lines import LineProfile

#: The tool of `sys.monitoring` that is taken: the last of those that have no purpose of their own.
_TOOL = 4


class _Call:
    """A call that goes on: the line that runs, and since when."""

    __slots__ = ("line", "since", "before")

    def __init__(self, before: Any) -> None:
        self.line = 0
        self.since = 0
        self.before = before


class _Thread:
    """The counts of one thread, which no other writes to."""

    __slots__ = ("open", "calls", "hits", "times")

    def __init__(self) -> None:
        #: The calls that go on, the innermost last.
        self.open: List[_Call] = []
        self.calls = 0
        #: Runs and nanoseconds by line.
        self.hits: Dict[int, int] = {}
        self.times: Dict[int, int] = {}

    def passed(self, call: _Call, now: int) -> None:
        """The line of a call has run until now."""
        if call.line:
            self.times[call.line] = self.times.get(call.line, 0) + now - call.since


class Counts:
    """The counts of a function. A number of threads may be in it."""

    def __init__(self, code: CodeType) -> None:
        self._code = code
        self._here = local()
        self._threads: List[_Thread] = []
        _watch(self)

    @property
    def calls(self) -> int:
        """The number of calls."""
        return sum(thread.calls for thread in self._threads)

    def enter(self) -> _Call:
        """A call begins, or a generator goes on, in this thread."""
        thread = getattr(self._here, "thread", None)
        if thread is None:
            thread = self._here.thread = _Thread()
            self._threads.append(thread)
        thread.calls += 1
        call = _Call(sys.gettrace() if _TRACES else None)
        thread.open.append(call)
        if _TRACES:
            sys.settrace(self._traced)
        return call

    def leave(self, call: _Call) -> None:
        """It ends, or the generator is suspended."""
        now = perf_counter_ns()
        if _TRACES:
            sys.settrace(call.before)
        thread = self._here.thread
        thread.passed(call, now)
        if call in thread.open:
            del thread.open[thread.open.index(call) :]

    def ran(self, line: int) -> None:
        """The interpreter begins a line in this thread."""
        now = perf_counter_ns()
        thread = getattr(self._here, "thread", None)
        if thread is None or not thread.open:
            # It was called in another way than by its name, as by a copy.
            return
        call = thread.open[-1]
        thread.passed(call, now)
        thread.hits[line] = thread.hits.get(line, 0) + 1
        call.line = line
        call.since = perf_counter_ns()

    def _traced(self, frame: FrameType, event: str, _: Any) -> Any:
        return self._line if frame.f_code is self._code else None

    def _line(self, frame: FrameType, event: str, _: Any) -> Any:
        if event == "line":
            self.ran(frame.f_lineno)
        return self._line

    def lines(self, profile: LineProfile) -> List[Line]:
        """The rows."""
        from .. import _rows

        hits = _sum([thread.hits for thread in self._threads])
        times = _sum([thread.times for thread in self._threads])
        whole = sum(times.values()) / 1e9
        texts = dict(enumerate(profile._source(), profile.first))
        rows = []
        for line in hits:
            seconds = times.get(line, 0) / 1e9
            members = {
                "file": profile.file,
                "line": line,
                "function": profile.name,
                "text": (texts.get(line) or "").strip() or None,
                "language": "python",
                "hits": hits[line],
                "total_seconds": seconds,
                "total_share": seconds / whole if whole else 0.0,
            }
            rows.append(_rows._line(members))
        return rows


def _sum(parts: List[Dict[int, int]]) -> Dict[int, int]:
    """Counts of all threads. They may go on meanwhile."""
    whole: Dict[int, int] = {}
    for part in parts:
        for line, number in list(part.items()):
            whole[line] = whole.get(line, 0) + number
    return whole


_counts: Dict[CodeType, Counts] = {}
_monitoring: Optional[Any] = getattr(sys, "monitoring", None)
_TRACES = _monitoring is None


def _watch(counts: Counts) -> None:
    if _monitoring is None:
        if sys.gettrace() is not None:
            raise Error("lines cannot be counted beside a debugger or a tool for coverage")
        return
    if not _counts:
        try:
            _monitoring.use_tool_id(_TOOL, "profundo.lines")
        except ValueError:
            name = _monitoring.get_tool(_TOOL)
            raise Error(f"lines cannot be counted beside {name}") from None
        _monitoring.register_callback(_TOOL, _monitoring.events.LINE, _ran)
    _counts[counts._code] = counts
    _monitoring.set_local_events(_TOOL, counts._code, _monitoring.events.LINE)


def _ran(code: CodeType, line: int) -> None:
    counts = _counts.get(code)
    if counts is not None:
        counts.ran(line)
