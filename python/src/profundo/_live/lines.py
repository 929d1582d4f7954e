"""``profundo.lines``: the lines of chosen functions, sampled or counted.

Sampled, a function runs as fast as without. Counted, each line has its number of runs and its
measured time, and each of these runs costs about as much as under line_profiler in pure Python.
"""

from __future__ import annotations

import os

from . import off, wrap
from .config import defaults
from .region import Region

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, List, Optional, TextIO, TypeVar, overload

    from .._rows import Line
    from .count import Counts
    from .options import Trace

    F = TypeVar("F", bound=Callable[..., Any])
else:

    def overload(function):
        return function


@overload
def lines(function: F, /) -> F: ...


@overload
def lines(  # noqa: F811
    *, exact: bool = False, trace: Optional[Trace] = None, print: bool = False
) -> Callable[[F], F]: ...


def lines(  # noqa: F811
    function: Any = None,
    /,
    *,
    exact: bool = False,
    trace: Optional[Trace] = None,
    print: bool = False,
) -> Any:
    """Decorate a function whose lines are of interest, or a class for those of its methods.

        @profundo.lines
        def load(path): ...

        load(path)
        load.profile.print()

    The attribute ``profile`` of the function is a :class:`LineProfile` of its calls so far.

    Args:
        exact: Count how often each line runs, and measure its time. Otherwise lines are sampled:
            there are no counts, and the function runs as fast as without.
        trace: ``"lines"`` or ``True`` is the same as ``exact=True``, as for :func:`profile`.
        print: Print the table on the standard error when the process ends.
    """
    if trace not in (None, False, True, "lines"):
        raise ValueError(f'lines counts lines: trace is False, True or "lines", not {trace!r}')
    if trace is None and not off.IS_OFF:
        trace = defaults().trace == "lines"
    exact = exact or bool(trace)

    def decorate(function: Any) -> Any:
        if off.IS_OFF:
            return function
        if isinstance(function, type):
            return _decorated_class(function, decorate)
        profile = LineProfile(function, exact)
        if print:
            from .sampler import SAMPLER

            SAMPLER.expect_at_exit(profile.write)
        return wrap.decorated(
            function, profile._enter, profile._leave, {"profile": profile}, by_step=exact
        )

    return decorate if function is None else decorate(function)


def _decorated_class(owner: Any, decorate: Callable[[Any], Any]) -> Any:
    """The class, with the lines of all its own methods of interest."""
    profiles = []
    for name, value in list(vars(owner).items()):
        code = wrap.code_of(value)
        if code is None or isinstance(value, type):
            continue
        if code.co_filename == "<string>" or code.co_filename.startswith("<frozen "):
            # It was generated, as methods of data classes are.
            continue
        try:
            decorated = decorate(value)
            setattr(owner, name, decorated)
        except (AttributeError, TypeError):
            # A class in C holds its methods, and a descriptor may be of a kind of its own.
            continue
        profiles.append(wrap.profile_of(decorated))
    if not profiles:
        raise TypeError(f"{owner!r} has no methods of Python")
    owner.profile = LineProfiles(owner.__qualname__, profiles)
    return owner


def source_of(file: str, first: int) -> List[str]:
    """The lines of a function that begins there; none where its source is not there."""
    import linecache
    from inspect import getblock

    every = linecache.getlines(file)[first - 1 :]
    return [line.rstrip() for line in getblock(every)] if every else []


class LineProfiles:
    """The lines of the methods of a class.

    Args:
        name: The name of the class.
        methods: The profiles of its methods.
    """

    def __init__(self, name: str, methods: List[LineProfile]) -> None:
        #: The name of the class.
        self.name = name
        #: The profile of each method, in their order.
        self.methods = methods

    @property
    def lines(self) -> List[Line]:
        """The lines of all methods."""
        return [line for method in self.methods for line in method.lines]

    def report(self) -> str:
        """The tables of the methods that were called."""
        called = [method.report() for method in self.methods if method.count]
        return "\n".join(called) or f"{self.name}\nNo method has been called.\n"

    def print(self, file: Optional[TextIO] = None) -> None:
        """Print the tables.

        Args:
            file: Where to; ``sys.stdout`` by default.
        """
        import sys

        (sys.stdout if file is None else file).write(self.report())

    def __str__(self) -> str:
        return self.report()

    def __repr__(self) -> str:
        return f"<LineProfiles of {self.name}: {len(self.methods)} methods>"


class LineProfile:
    """The lines of a function: a row for each, with the time of it and of all that it calls."""

    def __init__(self, function: Any, is_exact: bool) -> None:
        code = wrap.code_of(function)
        if code is None:
            raise TypeError(f"{function!r} has no lines of Python")
        #: The function's name.
        self.name = wrap.name_of(function)
        #: Its file, and the number of its first line.
        self.file: str = code.co_filename
        self.first: int = code.co_firstlineno
        #: Whether runs of lines are counted. Otherwise they are sampled.
        self.is_exact = is_exact
        self._function = code.co_name
        self._counts: Optional[Counts] = None
        if is_exact:
            from .count import Counts

            self._counts = Counts(code)
            self._enter: Callable[[], Any] = self._counts.enter
            self._leave: Callable[[Any], None] = self._counts.leave
        else:
            self._region = Region(self.name, defaults().over({"trace": False}), threads=False)
            self._enter, self._leave = self._region._enter, self._region._leave

    @property
    def count(self) -> int:
        """The number of its calls so far. A generator counts each time that it goes on."""
        return self._region.count if self._counts is None else self._counts.calls

    @property
    def lines(self) -> List[Line]:
        """The lines of the function that took time, by their number.

        ``total_seconds`` is a line's time with all that it calls. ``hits`` says how often it ran,
        where that was counted.
        """
        rows = self._sampled() if self._counts is None else self._counts.lines(self)
        return sorted(rows, key=lambda row: row.line)

    def _sampled(self) -> List[Line]:
        from .. import _rows

        if not self.count:
            return []
        options: Any = {"limit": 1000000, "min_share": 0, "total": True, "libraries": True}
        rows = _rows.lines(self._region.json("lines", **options))
        last = self.first + len(self._source()) - 1
        return [
            row
            for row in rows
            if row.file is not None
            and (row.file == self.file or os.path.realpath(row.file) == os.path.realpath(self.file))
            and self.first <= row.line <= last
        ]

    def _source(self) -> List[str]:
        return source_of(self.file, self.first)

    def report(self) -> str:
        """The table as text."""
        from .table import of_lines

        return of_lines(self, self._source())

    def print(self, file: Optional[TextIO] = None) -> None:
        """Print the table.

        Args:
            file: Where to; ``sys.stdout`` by default.
        """
        import sys

        (sys.stdout if file is None else file).write(self.report())

    def write(self) -> None:
        """Print the table on the standard error, with the reason where there is none."""
        import sys

        from .._error import Error

        try:
            self.print(sys.stderr)
        except Error as error:
            sys.stderr.write(f"profundo: {self.name}: {error}\n")

    def __str__(self) -> str:
        return self.report()

    def __repr__(self) -> str:
        how = "counted" if self.is_exact else "sampled"
        return f"<LineProfile of {self.name}: {how}, {self.count} calls>"
