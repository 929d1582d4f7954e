"""A recording, read through the command.

A profile is a path and options. Each question to it runs the command once, and the answer is kept
where it is asked for often.
"""

from __future__ import annotations

import os
import sys

from . import _command
from ._error import Error, NoProcess

# What only some questions need is imported there: a region (`profundo.profile`) is a profile too,
# and must not make its program wait.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, List, Optional, Sequence, TextIO, Tuple, Union

    from ._picture import Picture
    from ._rows import Function, Line, Quality
    from ._view import View

    Path = Union[str, "os.PathLike[str]"]

#: Options of reports that other verbs do not have.
_OF_REPORTS = ("sort", "limit", "min_share", "by", "total", "libraries", "no_disk")


#: Those of these that only change what is shown.
_OF_VIEWS = ("only_mine", "c")

#: Reports by what their rows are; others are tables of functions for each of these.
_ROWS = {"function": "functions", "line": "lines"}

#: Options that choose samples or change stacks, which all reports have.
_FILTERS = (
    "thread process label task span file function only_mine c from from_ to until gil focus ignore "
    "mine hide show show_from transform whole_sums no_config"
).split()


def load(path: Optional[Path] = None) -> Profile:
    """Open a recording.

    Args:
        path: The file. As for the command, ``"@2"`` is the second newest recording of this folder's
            ``.profundo``, ``"app"`` the newest of that program, and ``None`` the newest of all.

    Raises:
        Error: There is none, or it cannot be read.
    """
    profile = Profile(_resolved(path))
    # Reads it once, so that a file that is no recording is refused here.
    profile._head()
    return profile


def merge(
    *recordings: Union[Profile, Path], output: Optional[Path] = None, **options: Any
) -> Profile:
    """Combine recordings of runs, processes or machines into one.

    Args:
        recordings: Profiles or paths, in their order.
        output: Where the merged recording goes. Without it, it is kept as long as the profile is.
        options: Those of ``profundo merge``: ``label=["run=1", "run=2"]``, ``align="clock"``,
            ``force=True``.

    Raises:
        Error: They have no common sum, or cannot be read.
    """
    paths = [path_of(recording) for recording in recordings]
    kept = None
    if output is None:
        kept = Kept()
        output = kept.file("merged.profundo")
    output = os.path.abspath(output)
    words = ["merge"] + paths + _command.spelled(options)
    _command.run(words + ["--output=" + output])
    profile = Profile(output, _kept=kept)
    profile._head()
    return profile


class Kept:
    """A folder of temporary files, which goes with its owner."""

    def __init__(self) -> None:
        import tempfile
        import weakref

        self._folder = tempfile.mkdtemp(prefix="profundo-")
        self._files: List[str] = []
        weakref.finalize(self, _remove, self._folder, self._files, os.getpid())

    def file(self, name: str) -> str:
        """The path of a file in it."""
        path = os.path.join(self._folder, name)
        self._files.append(path)
        return path


def _remove(folder: str, files: List[str], owner: int) -> None:
    """Remove a folder, but not in a forked child: the parent still has it.

    Its files are known. Reading the folder would allocate much in the program.
    """
    if os.getpid() != owner:
        return
    for file in files:
        try:
            os.unlink(file)
        except OSError:
            # It was not made.
            pass
    try:
        os.rmdir(folder)
    except OSError:
        import shutil

        shutil.rmtree(folder, True)


def path_of(recording: Union[Profile, Path]) -> str:
    """The path of a recording that has a profile, or of a file that is named."""
    return file_of(recording)[0]


def file_of(recording: Union[Profile, Path]) -> Tuple[str, Any]:
    """The same, and what keeps the file."""
    if isinstance(recording, Profile):
        return recording._file()
    return _resolved(recording), None


def _resolved(path: Optional[Path]) -> str:
    """The file that is meant, independent of the current folder."""
    named = None if path is None else os.fspath(path)
    if named is not None and os.path.exists(named):
        return os.path.abspath(named)
    if named is not None and (os.sep in named or named.endswith(".profundo")):
        raise Error(f"there is no recording {named}")
    recordings = _command.document(["list"])["recordings"]
    if named is None:
        named = "@1"
    for one in recordings:
        name = os.path.basename(one["file"])
        stem = name[: -len(".profundo")] if name.endswith(".profundo") else name
        # `app-20261122-1519`, or `app` alone.
        if named in (one["name"], name, stem) or stem.startswith(named + "-20"):
            return str(one["file"])
    if path is None:
        raise Error("there is no recording in this folder or above it")
    raise Error(f"there is no recording {named}")


class Profile:
    """A recording, or a selection of what it has.

    ``print(profile)`` shows the first screen. In a notebook, a profile at the end of a cell shows a
    flame graph and the hot lines.

    Methods take the options of the command as keyword arguments, with the same names:
    ``p.report("lines", only_mine=True, focus=["parse", "load"], from_=0.5)``.
    """

    def __init__(
        self, path: Path, _options: Optional[Dict[str, Any]] = None, _kept: Optional[Kept] = None
    ) -> None:
        self._path = os.path.abspath(path)
        self._options: Dict[str, Any] = dict(_options or {})
        # Keeps a temporary file as long as this.
        self._kept = _kept
        self._found: Dict[str, Any] = {}
        # The report that stands for the whole.
        self._whole = "summary"

    def select(self, **options: Any) -> Profile:
        """The same recording with filters, transforms and other options for all that is asked.

        ``p.select(function="parse").lines`` has the lines below a function, and
        ``p.select(of="live").functions`` those that hold memory.
        """
        selected = Profile(self.path, dict(self._options, **options), self._kept)
        selected._whole = self._whole
        return selected

    # What the recording is.

    @property
    def path(self) -> str:
        """The file of the recording."""
        return self._path

    @property
    def command(self) -> Optional[str]:
        """The command line of the first process."""
        command: Optional[str] = self._recording("command")
        return command

    @property
    def duration(self) -> Optional[float]:
        """How long the recording lasted, in seconds."""
        seconds: Optional[float] = self._recording("duration_seconds")
        return seconds

    @property
    def cpu_time(self) -> Optional[float]:
        """The CPU time that the programs used, by the kernel's count, in seconds.

        Of a selection, it is the time that its samples stand for.
        """
        if any(name in _FILTERS for name in self._options):
            selection = self._head()["selection"]
            if self._recording("measures") == "cpu":
                return float(selection["seconds"] or 0.0)
            return float(selection["seconds"] or 0.0) * (1 - (selection.get("waiting_share") or 0))
        seconds: Optional[float] = self._recording("cpu_seconds")
        return seconds

    @property
    def quality(self) -> Quality:
        """How good the recording is: samples, what is missing, how sure shares are."""
        from . import _rows

        return _rows.quality(self._head())

    # Rows.

    @property
    def functions(self) -> List[Function]:
        """The functions, those with the most time of their own first.

        Where calls were counted, each has the number of its ``calls``.
        """
        if "functions" not in self._found:
            from . import _rows

            rows = _rows.functions(self.json("functions"))
            if rows and self._recording("measures") == "traced":
                filters = {name: value for name, value in self._options.items() if name in _FILTERS}
                counted = Profile(self.path, filters).json("trace", limit=1000000)
                rows = _rows.with_calls(rows, counted)
            self._found["functions"] = rows
        return list(self._found["functions"])

    @property
    def lines(self) -> List[Line]:
        """The lines that have time of their own, those with the most first.

        Of a recording that counted lines (``profundo trace --lines``), all lines that ran.
        """
        if "lines" not in self._found:
            whole = {"limit": 1000000, "min_share": 0}
            if self._recording("engine") == "none":
                # What was counted has no shares.
                del whole["min_share"]
            from . import _rows

            document = self.json("lines", **self._unless_set(whole))
            self._found["lines"] = _rows.lines(document)
        return list(self._found["lines"])

    def to_pandas(self, what: str = "functions") -> Any:
        """The rows as a ``pandas.DataFrame``, with a column for each attribute.

        The interval of a share is in columns of its own, such as ``self_share_low``.

        Args:
            what: ``"functions"`` or ``"lines"``.

        Raises:
            ImportError: pandas is not installed.
        """
        from ._frame import frame
        from ._rows import Function, Line

        if what not in ("functions", "lines"):
            raise ValueError(f'{what!r} has no rows here: "functions" and "lines" have')
        rows = self.functions if what == "functions" else self.lines
        return frame(rows, Function if what == "functions" else Line)

    # Reports.

    def report(self, what: Optional[str] = None, name: Optional[str] = None, **options: Any) -> str:
        """A report as text.

        Args:
            what: ``"summary"``, ``"functions"``, ``"lines"``, ``"tree"``, ``"flat"``,
                ``"callers"``, ``"callees"``, ``"calls"``, ``"annotate"``, ``"io"``, ``"syscalls"``,
                ``"memory"``, ``"allocs"``, ``"memory-lines"``, ``"trace"``, ``"pstats"``,
                ``"exceptions"``, ``"spread"`` or ``"statprof"``. The default is ``"summary"``;
                ``"lines"`` of memory (``select(of="live")``); and with ``by="line"`` or
                ``by="thread"`` the lines, or the functions of each thread.
            name: The function, for ``callers``, ``callees``, ``calls`` and ``annotate``.
            options: Those of ``profundo report``: ``sort="count"``, ``limit=10``,
                ``only_mine=True``. Not each report has each of them.
        """
        if what is None:
            what, options = self._default_by(options)
        return _command.text(self._report_words(what, name, options))

    def json(
        self, what: str = "summary", name: Optional[str] = None, **options: Any
    ) -> Dict[str, Any]:
        """A report as the document that ``profundo report --json`` prints."""
        return _command.document(self._report_words(what, name, options))

    def print(
        self, file: Optional[TextIO] = None, what: Optional[str] = None, **options: Any
    ) -> None:
        """Print a report, in colours and as wide as the screen where ``file`` is a terminal.

        Args:
            file: Where to; ``sys.stdout`` by default.
        """
        file = sys.stdout if file is None else file
        if file.isatty():
            import shutil

            defaults = {"color": "always", "width": shutil.get_terminal_size().columns}
            options = dict(defaults, **options)
        file.write(self.report(what, **options))

    def __str__(self) -> str:
        return self.report()

    def __repr__(self) -> str:
        options = "".join(f", {name}={value!r}" for name, value in self._options.items())
        return f"Profile({self.path!r}{options})"

    # Files and pictures.

    def save(self, path: Path, format: Optional[str] = None, **options: Any) -> None:
        """Write the profile to a file, in the format of its name.

        ``.svg`` is a flame graph, ``.heatmap.svg`` a heatmap, ``.graph.svg`` a call graph;
        ``.pb.gz`` is for pprof, ``.speedscope.json`` for speedscope, ``.folded`` for flame graph
        scripts, ``.pstats`` for Python's pstats, ``.callgrind`` for KCachegrind, ``.lprof`` for
        line_profiler; ``.html`` is the page of :meth:`view`, and ``.profundo``
        a recording: of what is selected, if that is a part.

        Args:
            path: The file. One of another kind is not replaced unless ``force=True`` is given.
            format: The format, in place of the one of the name.
            options: Those of ``profundo export``, ``flame``, ``heatmap`` or ``graph``.
        """
        from . import _export

        path = os.fspath(path)
        format = _export.format_of(path, format)
        if format == _export.RECORDING:
            is_forced = bool(options.pop("force", False))
            if self._options or options:
                self._cut(path, dict(self._options, **options), is_forced)
            else:
                _copy(self.path, path, is_forced)
        elif format == _export.PAGE:
            is_forced = bool(options.pop("force", False))
            self.select(**options)._view().save(path, force=is_forced)
        else:
            _export.write(self.path, path, format, self._for_files(options))

    def flame(self, **options: Any) -> Picture:
        """The flame graph: a picture to click through, which a notebook shows.

        Args:
            options: Those of ``profundo flame``: ``layout="icicle"``, ``colour="package"``,
                ``only_mine=True``.
        """
        from . import _export
        from ._picture import Picture

        options = self._for_files(options)

        def again(percent: float) -> str:
            return _export.picture(self.path, "flame", dict(options, min_share=percent))

        svg = _export.picture(self.path, "flame", options)
        return Picture(svg, None if "min_share" in options else again)

    def view(self) -> View:
        """The page of ``profundo view``: opened in the browser, or shown by a notebook."""
        from ._view import shown

        # With a title, the page says how to keep a profile that is no file of the reader's.
        return shown(self._view("profile" if self._options else ""))

    def heatmap(self, **options: Any) -> Picture:
        """Time against the offset within each second: pauses, and what recurs."""
        from . import _export
        from ._picture import Picture

        return Picture(_export.picture(self.path, "heatmap", self._for_files(options)))

    def graph(self, **options: Any) -> Picture:
        """Who calls whom, as boxes and arrows."""
        from . import _export
        from ._picture import Picture

        return Picture(_export.picture(self.path, "graph", self._for_files(options)))

    def _repr_mimebundle_(
        self, include: Optional[Sequence[str]] = None, exclude: Optional[Sequence[str]] = None
    ) -> Dict[str, str]:
        text = self.report(width=120)
        return {"text/plain": text, "text/html": self._view().framed(text=text)}

    # Inner parts.

    def _view(self, title: str = "", place: str = "") -> View:
        """The page. What only chooses what a report shows is a place on it, or nothing."""
        from ._view import View

        if "of" in self._options:
            place = place or "memory"
        filters = {
            name: value
            for name, value in self._options.items()
            if name in _FILTERS and name not in _OF_VIEWS
        }
        path, kept = self._file() if filters == self._options else self._filtered(filters)._file()
        return View([path], kept, title, place)

    def _filtered(self, filters: Dict[str, Any]) -> Profile:
        """The profile with these filters and no other options."""
        return Profile(self.path, filters, self._kept)

    def _file(self) -> Tuple[str, Any]:
        """The path of a recording of what is selected, and what keeps it."""
        if not self._options:
            return self.path, self
        if "file" not in self._found:
            kept = Kept()
            path = kept.file("part.profundo")
            self._cut(path, self._options, False)
            self._found["file"] = (path, kept)
        found: Tuple[str, Any] = self._found["file"]
        return found

    def _cut(self, path: str, options: Dict[str, Any], is_forced: bool) -> None:
        """Write a recording of what these options select."""
        for name in options:
            if name not in _FILTERS or name in _OF_VIEWS:
                raise Error(f"a recording has all of what is selected: {name} selects nothing")
        words = ["export", self.path, "--to=profundo", "--output=" + path]
        try:
            _command.run(words + _command.spelled(dict(options, force=is_forced)))
        except NoProcess:
            from ._live import alone

            if not alone.is_raw(self.path):
                raise
            _copy(self.path, path, is_forced, alone.selection(options))

    def _default_by(self, options: Dict[str, Any]) -> Tuple[str, Dict[str, Any]]:
        """The report that is meant where none is named, and its options."""
        by = options.get("by", self._options.get("by"))
        if by is None:
            return self._default, options
        if by in _ROWS:
            # Its rows are these without the option.
            return _ROWS[by], dict(options, by=None)
        return "functions", options

    @property
    def _default(self) -> str:
        """The report that stands for the whole: the first screen is about time."""
        return "lines" if "of" in self._options else self._whole

    def _head(self) -> Any:
        """The document of the first report, kept."""
        if "head" not in self._found:
            filters = {name: value for name, value in self._options.items() if name in _FILTERS}
            self._found["head"] = Profile(self.path, filters).json()
        return self._found["head"]

    def _recording(self, member: str) -> Any:
        return self._head()["recording"][member]

    def _report_words(self, what: str, name: Optional[str], options: Dict[str, Any]) -> List[str]:
        words = ["report", self.path, what] + ([] if name is None else [name])
        return words + _command.spelled(dict(self._options, **options))

    def _unless_set(self, options: Dict[str, Any]) -> Dict[str, Any]:
        return {name: value for name, value in options.items() if name not in self._options}

    def _for_files(self, options: Dict[str, Any]) -> Dict[str, Any]:
        ours = {name: value for name, value in self._options.items() if name not in _OF_REPORTS}
        return dict(ours, **options)


def _copy(source: str, target: str, is_forced: bool, more: bytes = b"") -> None:
    """Copy a recording, and put more behind it. The file has its name when it is whole."""
    if not is_forced and os.path.exists(target) and os.path.getsize(target) > 0:
        with open(source, "rb") as ours, open(target, "rb") as theirs:
            if ours.read(8) != theirs.read(8):
                raise Error(f"{target} exists and is no recording; force=True replaces it")
    import shutil

    beside = f"{target}.{os.getpid()}"
    try:
        # Others may not read it, as those that the command makes.
        with open(source, "rb") as ours, open(
            os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb"
        ) as theirs:
            shutil.copyfileobj(ours, theirs)
            theirs.write(more)
        os.replace(beside, target)
    except OSError as error:
        if os.path.exists(beside):
            os.remove(beside)
        raise Error(f"cannot write {target}: {error.strerror}") from None
