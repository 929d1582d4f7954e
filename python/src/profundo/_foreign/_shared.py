"""What the stand-ins share."""

from __future__ import annotations

from .._live import off
from .._live.lines import source_of
from .._live.sampler import SAMPLER

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType
    from typing import Any, Callable, Dict, List, Optional

    from .._live.region import Entry, Region
    from .._rows import Line


def is_recorded_or_off() -> bool:
    """Whether decorators have nothing to do: the whole program is recorded, or nothing shall be."""
    return off.IS_OFF or SAMPLER.outer() is not None


class Decorated:
    """The functions that were decorated, each with its line profile."""

    def __init__(self) -> None:
        self.profiles: List[Any] = []

    def add(self, function: Any) -> Any:
        """The function, whose lines are of interest from now on."""
        from .._live.lines import lines

        if is_recorded_or_off():
            return function
        try:
            decorated = lines(function)
        except TypeError:
            return function
        profile = getattr(decorated, "profile", None)
        if profile is not None:
            self.profiles.append(profile)
        return decorated

    def print(self, write: Callable[[str], Any]) -> None:
        """Print the tables of all that was called."""
        for profile in self.profiles:
            if profile.count:
                write(profile.report() + "\n")


class Followed:
    """Functions that go on as they are, and whose lines are counted for a while.

    Several may be counted at the same time, each with functions of its own. All of these are
    counted together then, because regions that are open at a time count the same.
    """

    # Those that are counted now.
    _open: List[Followed] = []

    def __init__(self) -> None:
        #: How often the counting was begun, where it ends as often.
        self.depth = 0
        self._codes: List[CodeType] = []
        self._regions: List[Region] = []
        self._entry: Optional[Entry] = None

    def add(self, code: CodeType) -> None:
        """A function, by its code."""
        if code not in self._codes:
            self._codes.append(code)

    def begin(self) -> None:
        """Count from now on."""
        if self not in Followed._open and self._codes and not is_recorded_or_off():
            Followed._open.append(self)
            self._count_together()

    def end(self) -> None:
        """Count no longer."""
        if self in Followed._open:
            Followed._open.remove(self)
            self._leave()

    def print(self, write: Callable[[str], Any]) -> None:
        """Print the tables, or why there are none."""
        for region in self._regions:
            if region.error is not None:
                write(f"{region.error}.\n")
                return
        if self._codes and not self._regions and not is_recorded_or_off():
            write("Nothing was counted: the profiler was not enabled.\n")
            return
        rows = [row for region in self._regions for row in region.lines]
        for code in self._codes if self._regions else []:
            write(FollowedLines(code, rows).report() + "\n")

    @classmethod
    def _count_together(cls) -> None:
        """Have all that are open count the functions of all."""
        from .._live.options import Options
        from .._live.region import Region

        codes = [code for one in cls._open for code in one._codes]
        functions = tuple(sorted({(code.co_filename, code.co_name) for code in codes}))
        others = [one for one in cls._open if one._functions() != functions]
        for one in others:
            one._leave()
        for one in others:
            if not one._regions or one._last_functions() != functions:
                region = Region("line_profiler", Options(trace="lines"), threads=True)
                region.count_lines_of(functions)
                one._regions.append(region)
            one._entry = one._regions[-1]._enter()

    def _functions(self) -> Any:
        """What is counted for it now."""
        return None if self._entry is None else self._last_functions()

    def _last_functions(self) -> Any:
        counted = self._regions[-1].counted
        return None if counted is None else counted.wanted[1]

    def _leave(self) -> None:
        entry, self._entry = self._entry, None
        if entry is not None:
            entry.region._leave(entry)


class FollowedLines:
    """The counted lines of a function, for its table."""

    is_exact = True
    #: It is not known how often it was called.
    count = None

    def __init__(self, code: CodeType, rows: List[Line]) -> None:
        self.name = getattr(code, "co_qualname", code.co_name).replace("<locals>.", "")
        self.file = code.co_filename
        self.first = code.co_firstlineno
        self._source = source_of(self.file, self.first)
        last = self.first + len(self._source) - 1
        by_line: Dict[int, Line] = {}
        for row in rows:
            if row.file == self.file and self.first <= row.line <= last:
                by_line[row.line] = _added(by_line.get(row.line), row)
        #: The lines that ran.
        self.lines = [by_line[line] for line in sorted(by_line)]

    def report(self) -> str:
        """The table as text."""
        from .._live.table import of_lines

        return of_lines(self, self._source)


def _added(before: Optional[Line], row: Line) -> Line:
    """The sum of two counts of a line, whose time has what it calls."""
    from dataclasses import replace

    hits, seconds = row.hits or 0, row.self_seconds or 0.0
    if before is not None:
        hits, seconds = hits + (before.hits or 0), seconds + (before.total_seconds or 0.0)
    return replace(row, hits=hits, total_seconds=seconds)
