"""Rows of reports: what the command's JSON says, as small objects that cannot be changed.

Attributes have the names of the members that ``docs/json.md`` describes. Amounts with ``self_`` in
front are of the samples that end there, and those with ``total_`` of all that have it on their
stack.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, fields, replace
from typing import Any, Dict, List, Mapping, Optional, Tuple, Type, TypeVar


class Share(float):
    """A part of 1, with its 95 % interval.

    It is a ``float``, so it can be compared and added up. ``low`` and ``high`` are the ends of the
    interval, and ``None`` where there are fewer than 30 samples.
    """

    __slots__ = ("_low", "_high")

    _low: Optional[float]
    _high: Optional[float]

    def __new__(
        cls, value: float, low: Optional[float] = None, high: Optional[float] = None
    ) -> Share:
        self = super().__new__(cls, value)
        object.__setattr__(self, "_low", low)
        object.__setattr__(self, "_high", high)
        return self

    @property
    def low(self) -> Optional[float]:
        """The lower end of the interval."""
        return self._low

    @property
    def high(self) -> Optional[float]:
        """The upper end of the interval."""
        return self._high

    def __getnewargs__(self) -> Tuple[Any, ...]:
        return float(self), self._low, self._high

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("a share cannot be changed")

    def __reduce__(self) -> Any:
        return Share, self.__getnewargs__()

    def __str__(self) -> str:
        if self._low is None or self._high is None:
            return f"{100 * self:.1f} %"
        return f"{100 * self:.1f} % ({100 * self._low:.1f}–{100 * self._high:.1f})"

    def __repr__(self) -> str:
        return f"Share({float(self):.6g}, {self._low}, {self._high})"


@dataclass(frozen=True)
class Function:
    """A function, with its own time and its time with all that it calls.

    Of a profile of memory (``of="live"``), ``self_bytes`` or ``self_blocks`` take the place of
    ``self_seconds``. What is not known is ``None``.
    """

    #: The name; ``[…]`` says why a stack has none there.
    function: Optional[str]
    #: The path of the source, or of the library where there is no source.
    file: Optional[str]
    #: The line with the most time in it.
    line: Optional[int]
    #: ``python``, ``rust``, ``native``, ``runtime``, ``javascript``, ``julia``, ``generated`` or
    #: ``none``.
    language: str
    #: Samples that end in this function.
    self_samples: int
    #: The time that they stand for.
    self_seconds: Optional[float]
    #: This time as a part of all that was selected.
    self_share: Share
    #: The parts of ``self_share`` that the interpreter, native code and the kernel have.
    self_python_share: float
    self_native_share: float
    self_system_share: float
    #: The part of it in which it waited; 0 where waiting was not recorded.
    self_waiting_share: float
    #: Samples with this function on their stack.
    total_samples: int
    #: The time that they stand for: the function's own, and that of what it calls.
    total_seconds: Optional[float]
    #: This time as a part of all that was selected.
    total_share: Share
    #: The parts of ``total_share``.
    total_python_share: float
    total_native_share: float
    total_system_share: float
    total_waiting_share: float
    #: Memory in place of time.
    self_bytes: Optional[float] = None
    self_blocks: Optional[float] = None
    self_copies: Optional[float] = None
    total_bytes: Optional[float] = None
    total_blocks: Optional[float] = None
    total_copies: Optional[float] = None
    #: The name of the notebook's cell that it is in, such as ``In [12]``; ``None`` of a file.
    cell: Optional[str] = None
    #: How often it was called, where that was counted; 0 of one that was called before.
    calls: Optional[int] = None
    #: How often it went on after it had yielded or awaited.
    resumes: Optional[int] = None


@dataclass(frozen=True)
class Line:
    """A line of source, with its own time and its time with all that it calls.

    Its own time has what it calls in native code and in libraries, but not what it calls of the
    reader's own code. Where lines were counted (``profundo trace --lines``), ``hits`` says how
    often it ran. ``self_seconds`` is then measured, with what it calls, and there are no samples or
    shares.
    """

    #: The path of the source.
    file: Optional[str]
    #: The number of the line, from 1.
    line: int
    #: The function that it is in.
    function: Optional[str]
    #: The text, without the white space around; ``None`` where it is not known.
    text: Optional[str]
    #: As in :class:`Function`.
    language: Optional[str]
    #: How often the line ran, where that was counted.
    hits: Optional[int]
    #: Samples that this line is the innermost line of one's own code of.
    self_samples: Optional[int]
    #: The time that they stand for.
    self_seconds: Optional[float]
    #: This time as a part of all that was selected.
    self_share: Optional[Share]
    #: The parts of ``self_share`` that the interpreter, native code and the kernel have.
    self_python_share: Optional[float]
    self_native_share: Optional[float]
    self_system_share: Optional[float]
    #: The part of it in which it waited; 0 where waiting was not recorded.
    self_waiting_share: Optional[float]
    #: Samples with this line on their stack, and so on as with ``self_``.
    total_samples: Optional[int]
    total_seconds: Optional[float]
    total_share: Optional[Share]
    total_python_share: Optional[float]
    total_native_share: Optional[float]
    total_system_share: Optional[float]
    total_waiting_share: Optional[float]
    #: Memory in place of time.
    self_bytes: Optional[float] = None
    self_blocks: Optional[float] = None
    self_copies: Optional[float] = None
    total_bytes: Optional[float] = None
    total_blocks: Optional[float] = None
    total_copies: Optional[float] = None
    #: The name of the notebook's cell that it is in, such as ``In [12]``; ``None`` of a file.
    cell: Optional[str] = None

    @property
    def place(self) -> str:
        """Where it is, for a reader: ``In [12]:3`` or ``app.py:3``."""
        return f"{self.cell or os.path.basename(self.file or '?')}:{self.line}"


@dataclass(frozen=True)
class Quality:
    """How good a recording is. ``str(quality)`` says it in a few sentences."""

    #: What took the samples: ``perf-signal``, ``cpu-timer``, ``wall`` …
    engine: str
    #: The nominal time between two samples of a busy thread.
    period_seconds: Optional[float]
    #: How many samples were taken.
    samples: int
    #: The CPU time in periods.
    samples_expected: Optional[float]
    #: Samples that are missing altogether.
    samples_lost: int
    #: Samples whose stack is less than whole.
    stacks_truncated: int
    stacks_broken: int
    #: The CPU time that the programs used, by the kernel's count.
    cpu_seconds: Optional[float]
    #: The part of it that samples were measured to stand for.
    cpu_sampled_share: Optional[float]
    #: What the profiler took in the program, as a part of its CPU time.
    own_cost_share: Optional[float]
    #: How far at most a share is off, to either side, in 95 of 100 recordings.
    share_margin: Optional[float]
    #: Sentences on what is missing.
    warnings: Tuple[str, ...]
    #: Sentences for the reader.
    notes: Tuple[str, ...]

    def __str__(self) -> str:
        if self.engine == "none":
            # All was counted, and nothing sampled.
            return "\n".join(self.warnings + self.notes)
        parts = [
            f"{self.samples} samples, {self.samples_lost} lost, "
            f"{self.stacks_truncated} truncated, {self.stacks_broken} broken"
        ]
        if self.cpu_sampled_share is not None:
            # It is an estimate, which may come out above the whole.
            sampled = min(self.cpu_sampled_share, 1.0)
            parts.append(f"{100 * sampled:.1f} % of the CPU time sampled")
        if self.own_cost_share is not None:
            parts.append(f"own cost {100 * self.own_cost_share:.1f} %")
        if self.share_margin is not None:
            parts.append(f"shares are ± {100 * self.share_margin:.1f} points (95 %)")
        return "\n".join(["; ".join(parts)] + list(self.warnings) + list(self.notes))


Row = TypeVar("Row")


def quality(document: Mapping[str, Any]) -> Quality:
    """The quality that a report's JSON states."""
    members = dict(document["selection"], **document["recording"])
    for name in ("warnings", "notes"):
        members[name] = tuple(members[name])
    return _row(Quality, members)


def functions(document: Mapping[str, Any]) -> List[Function]:
    """The rows of the report ``functions``."""
    cells = _cells(document)
    return [_row(Function, dict(row, cell=cells.get(row["file"]))) for row in document["functions"]]


def with_calls(rows: List[Function], document: Mapping[str, Any]) -> List[Function]:
    """The rows with the number of their calls, which the report ``trace`` has."""
    calls: Dict[Any, Tuple[int, int]] = {}
    for group in document["groups"]:
        for one in group["functions"]:
            place = one["function"], one["file"], one["line"]
            before = calls.get(place, (0, 0))
            calls[place] = before[0] + one["calls"], before[1] + one["resumes"]
    found = []
    for row in rows:
        called, resumed = calls.get((row.function, row.file, row.line), (None, None))
        found.append(replace(row, calls=called, resumes=resumed))
    return found


def _cells(document: Mapping[str, Any]) -> Dict[Optional[str], str]:
    """The names of notebooks' cells, by what rows have as their file."""
    return {cell["file"]: cell["name"] for cell in document["recording"].get("cells", [])}


def lines(document: Mapping[str, Any]) -> List[Line]:
    """The rows of the report ``lines``, or of ``counted_lines``, in the order of their own time."""
    rows: List[Line] = []
    cells = _cells(document)
    if "files" in document:
        for file in document["files"]:
            outer = {"file": file["file"], "language": file["language"]}
            outer["cell"] = cells.get(file["file"])
            rows += [_line(dict(outer, **line)) for line in file["lines"]]
    else:
        for function in document["functions"]:
            outer = {"file": function["file"], "function": function["function"]}
            outer["cell"] = cells.get(function["file"])
            for line in function["lines"]:
                members = dict(outer, self_seconds=line["seconds"], **line)
                rows.append(_line(members))
    rows.sort(key=_own, reverse=True)
    return rows


def _own(line: Line) -> Tuple[float, int]:
    own = line.self_seconds
    if own is None:
        own = next(filter(None, (line.self_bytes, line.self_blocks, line.self_copies)), 0.0)
    return own, line.hits or 0


def _line(members: Dict[str, Any]) -> Line:
    if members.get("text") is not None:
        members["text"] = members["text"].strip()
    return _row(Line, members)


def _row(kind: Type[Row], members: Mapping[str, Any]) -> Row:
    """A row from the members of an object, of which newer commands may have more."""
    values: Dict[str, Any] = {}
    for field in fields(kind):  # type: ignore[arg-type]
        name = field.name
        value = members.get(name)
        if name in ("self_share", "total_share") and value is not None:
            value = Share(value, members.get(name + "_low"), members.get(name + "_high"))
        elif (
            name.endswith("_waiting_share")
            and value is None
            and name.split("_")[0] + "_share" in members
        ):
            value = 0.0
        values[name] = value
    return kind(**values)
