"""A cell or a statement that runs in a region, and is shown when it has ended."""

from __future__ import annotations

import itertools
import linecache
import sys
import threading
from types import TracebackType
from typing import TYPE_CHECKING, Any, List, Optional, Tuple, Type

from .._error import Error
from .options import Options

if TYPE_CHECKING:
    from .._live.region import Region


#: Numbers for the names of statements.
_names = itertools.count(1)


class Source:
    """A stretch of source whose lines are shown: a cell, or a function.

    Args:
        title: What it is called: ``In [12]``, or the name of a function.
        file: The name that its code has as its file.
        first: The number of its first line.
        lines: The text of its lines.
        name: The name that its code has; empty for all of the file.
    """

    def __init__(self, title: str, file: str, first: int, lines: List[str], name: str = "") -> None:
        self.title = title
        self.name = name
        self.file = file
        self.first = first
        self.lines = lines

    def __contains__(self, row: Any) -> bool:
        return bool(row.file == self.file) and self.first <= row.line < self.first + len(self.lines)


class Shown:
    """What stands around a region: it shows the profile after it.

    Args:
        shell: IPython's shell.
        options: What is asked for.
        source: What runs in it.
        target: The variable that gets the profile.
    """

    def __init__(
        self, shell: Any, options: Options, source: Source, target: Optional[str] = None
    ) -> None:
        from .. import profile

        self._shell = shell
        self.options = options
        self.source = source
        self._target = target
        #: What has ended it, if it has failed.
        self.error: Optional[BaseException] = None
        self._value: Any = None
        #: The region, in which the statements run.
        self.region: Region = profile(
            source.title,
            # A cell of another thread (a subshell) has its own work only.
            threads=threading.current_thread() is threading.main_thread(),
            **options.recorded,
        )
        if self.region.counted is not None and (options.functions or options.modules):
            self.region.count_lines_of([(source.file, "")] + named(shell, options))

    @property
    def profile(self) -> Region:
        """The profile."""
        return self.region

    def __enter__(self) -> Shown:
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        self.error = error
        for name in [name for name, one in self._shell.user_ns.items() if one is self]:
            del self._shell.user_ns[name]
        if self._target is not None:
            self._shell.user_ns[self._target] = self.region
        self.present()

    # The value of a cell.

    def keep(self, value: Any) -> None:
        """The value of the last expression."""
        self._value = value

    def show(self, value: Any) -> None:
        """A value in between, where all are shown."""
        sys.displayhook(value)

    def show_value(self) -> None:
        """Show the value of the last expression, as IPython does."""
        value, self._value = self._value, None
        sys.displayhook(value)

    # What is shown of the profile.

    def present(self) -> None:
        """Show the profile and write the files. What fails is said, and does not fail the cell."""
        from IPython.core.error import UsageError
        from IPython.display import display

        from .._live import off
        from .view import View

        if off.IS_OFF:
            sys.stderr.write(f"profundo: {self.region.report()}")
            return
        try:
            view = View(self, [self.source] + functions_of(self._shell, self.options))
            if not self.options.is_quiet:
                display(view)
            for written in view.write():
                print(written)
        except (Error, UsageError) as error:
            sys.stderr.write(f"profundo: {error}\n")


def cell_of(shell: Any, file: str) -> Source:
    """The cell that runs, whose code has this name as its file."""
    lines = [line.rstrip("\r\n") for line in linecache.getlines(file)]
    raw = shell.history_manager.input_hist_raw
    typed = raw[-1].rstrip("\n").split("\n") if raw else []
    # As it was typed, where that has the same lines.
    if len(typed) == len(lines) and typed[1:2] == lines[1:2]:
        lines = typed
    text = shell.history_manager.input_hist_parsed[-1].rstrip("\n")
    is_numbered = text == "".join(linecache.getlines(file)).rstrip("\n")
    title = f"In [{number_of_cell(shell)}]" if is_numbered else "a cell without a number"
    return Source(title, file, 1, lines)


def number_of_cell(shell: Any) -> int:
    """The number of the cell that runs: its place in ``In``."""
    return len(shell.history_manager.input_hist_parsed) - 1


def statement_as_cell(shell: Any, statement: str, line: int) -> Source:
    """A statement of a line magic. It has a name of its own, and the number of its line."""
    number = number_of_cell(shell)
    # The recorder finds the text by this name, and the cell's number in it.
    file = f"<ipython-input-{number}-profundo-{line}-{next(_names)}>"
    lines = statement.split("\n")
    text = [""] * (line - 1) + lines
    linecache.cache[file] = (
        len(statement),
        None,
        [one + "\n" for one in text],
        file,
    )
    return Source(f"In [{number}]", file, line, lines)


def functions_of(shell: Any, options: Options) -> List[Source]:
    """The functions that ``-f`` and ``-m`` name.

    Raises:
        UsageError: There is no such function or module.
    """
    import importlib

    from IPython.core.error import UsageError

    found: List[Source] = []
    for name in options.functions:
        try:
            found.append(_source_of(name, eval(name, shell.user_global_ns, shell.user_ns)))
        except Exception as error:
            raise UsageError(f"-f: no function {name!r}: {type(error).__name__}: {error}") from None
    for name in options.modules:
        try:
            module = importlib.import_module(name)
        except Exception as error:
            raise UsageError(f"-m: no module {name!r}: {type(error).__name__}: {error}") from None
        file = getattr(module, "__file__", None) or ""
        lines = [line.rstrip("\r\n") for line in linecache.getlines(file)]
        if not lines:
            raise UsageError(f"-m: {name!r} has no source in Python")
        found.append(Source(name, file, 1, lines))
    return found


def named(shell: Any, options: Options) -> List[Tuple[str, str]]:
    """The file and the name of each function that ``-f`` and ``-m`` name, before the cell runs.

    A function that the cell is about to define has no file yet.
    """
    from IPython.core.error import UsageError

    found: List[Tuple[str, str]] = []
    for one in options.each():
        try:
            found += [(source.file, source.name) for source in functions_of(shell, one)]
        except UsageError:
            found += [("", name.rpartition(".")[2]) for name in one.functions]
    return found


def _source_of(name: str, function: Any) -> Source:
    import inspect

    function = inspect.unwrap(function)
    function = getattr(function, "__func__", function)
    if isinstance(function, property):
        function = function.fget
    lines, first = inspect.getsourcelines(function)
    file = inspect.getsourcefile(function) or ""
    code = getattr(function, "__code__", None)
    inner = ""
    if code is not None:
        file, inner = code.co_filename, code.co_name
    return Source(name, file, max(first, 1), [line.rstrip("\r\n") for line in lines], inner)
