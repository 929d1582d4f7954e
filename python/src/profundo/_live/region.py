"""A region: a stretch of work, whose profile is what was recorded of it.

Entering it puts its label, a span, on the samples of this thread or task. So regions may lie in one
another, overlap, and run in many threads and tasks at the same time: each has its own.
"""

from __future__ import annotations

import _thread
import os
import sys
import weakref
from _thread import get_native_id
from contextvars import ContextVar
from time import perf_counter

from .._error import Error
from .._profile import Kept, Profile
from . import labels
from .counting import Counted
from .sampler import SAMPLER, Recorded

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType
    from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple, Type, TypeVar

    from .._picture import Picture
    from .._profile import Path
    from .._rows import Function, Line
    from .options import Options
    from .sampler import Recording

    F = TypeVar("F", bound=Callable[..., Any])

#: How far a clock of ours may be off the recorder's, in seconds.
_SLACK = 0.0005


#: Reports about allocations.
_OF_MEMORY = ("allocs", "memory", "memory-lines")

#: The reports that show what was counted.
_OF_COUNTS = {"calls": "trace", "lines": "lines", "exceptions": "exceptions"}

#: The words by which a report names the options that select a region.
_SELECTION = r"Only: from=[0-9.]*[0-9] to=[0-9.]*[0-9]( span=region=[0-9]+)?"


class Entry:
    """One entry into a region: what its leaving needs."""

    __slots__ = ("region", "label", "is_recorded", "thread")

    def __init__(
        self, region: Region, label: Any, is_recorded: bool, thread: Optional[int] = None
    ) -> None:
        self.region = region
        self.label = label
        self.is_recorded = is_recorded
        #: The thread whose calls are counted; ``None`` for all.
        self.thread = thread


#: What is open in this context, the outermost first.
_OPEN: ContextVar[Tuple[Entry, ...]] = ContextVar("profundo_open", default=())


class Region(Profile):
    """A region of the program, and the profile of it.

    It is a context manager and a decorator. After it, and within it, it answers what every
    :class:`Profile` does. A region that is entered more than once has all these times.
    """

    def __init__(
        self,
        name: Optional[str],
        options: Options,
        *,
        threads: Optional[bool] = None,
        output: Optional[Path] = None,
        print: bool = False,
    ) -> None:
        #: Its name, which its span has.
        self.name = name or "profile"
        #: What is recorded of it.
        self.options = options
        #: Why nothing of it is recorded, if so.
        self.error: Optional[Error] = None
        #: How often it has been entered.
        self.count = 0
        #: When it was entered for the first time, on ``time.perf_counter()``.
        self.began = 0.0
        self._is_named = name is not None
        self._threads = threads
        self._output = None if output is None else os.path.abspath(output)
        self._prints = print
        #: What it has counted, if it counts.
        self.counted = Counted((options.trace, ())) if options.trace else None  # type: ignore
        self._is_in_task = False
        self._has_threads = False
        self._counts_kept: Optional[Kept] = None
        self._number = 0
        self._is_decorator = False
        self._last = 0.0
        self._entries: List[Entry] = []
        self._answer: Optional[Tuple[float, Profile]] = None

    # Its time.

    def __enter__(self) -> Region:
        entry = self._begin_entry()
        _OPEN.set(_OPEN.get() + (entry,))
        self._count_memory(entry, True)
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]] = None,
        error: Optional[BaseException] = None,
        trace: Optional[TracebackType] = None,
    ) -> None:
        opened = _OPEN.get()
        for index in range(len(opened) - 1, -1, -1):
            if opened[index].region is self:
                self._leave(opened[index])
                _OPEN.set(opened[:index] + opened[index + 1 :])
                return
        # A generator may be left in another context than it was entered in.
        if self._entries:
            self._leave(self._entries[-1])

    def __call__(self, function: F) -> F:
        """Decorate a function: all its calls are in this region.

        A generator is in it while it runs. The profile of the calls so far is the attribute
        ``profile`` of the function.
        """
        from . import wrap

        if not self._is_named:
            self.name = wrap.name_of(function)
            self._is_named = True
        if self._threads is None:
            self._threads = False
        self._is_decorator = True
        return wrap.decorated(function, self._enter, self._leave, {"profile": self})

    def _enter(self) -> Entry:
        entry = self._begin_entry()
        self._count_memory(entry, True)
        return entry

    def _begin_entry(self) -> Entry:
        if self.counted is not None:
            return self._enter_counted()
        error = SAMPLER.enter(self)
        if self.count == 0:
            self._begin()
            self.error = error
        self.count += 1
        entry = Entry(self, labels.enter(self.name, self._number), error is None)
        self._entries.append(entry)
        return entry

    def _enter_counted(self) -> Entry:
        if self.count == 0:
            self._begin()
        self.count += 1
        self._is_in_task = self._is_in_task or _is_in_task()
        self._has_threads = self._has_threads or _thread._count() > 0
        thread = None if self._threads else get_native_id()
        entry = Entry(self, labels.enter(self.name, self._number), False, thread)
        self._entries.append(entry)
        # Last: all that comes behind it is counted.
        error = SAMPLER.enter_counted(self, thread)
        entry.is_recorded = error is None
        if self.count == 1:
            self.error = error
            # The recorder may have begun meanwhile.
            self.began = perf_counter()
        return entry

    def _leave(self, entry: Entry) -> None:
        try:
            self._entries.remove(entry)
        except ValueError:
            # It was left already.
            return
        self._count_memory(entry, False)
        if entry.is_recorded and self.counted is not None:
            SAMPLER.leave_counted(self, entry.thread)
        labels.leave(entry.label)
        self._last = perf_counter()
        if entry.is_recorded and self.counted is None:
            SAMPLER.leave(self._is_decorator)

    def _count_memory(self, entry: Entry, counts: bool) -> None:
        """The last step of entering, and the first one of leaving: what the others allocate is not
        the region's."""
        if SAMPLER.is_exact and entry.is_recorded and self.counted is None:
            SAMPLER.count_memory(counts)

    def _begin(self) -> None:
        """The first entry."""
        self._number = labels.NUMBERS.take()
        weakref.finalize(self, labels.NUMBERS.give_back, self._number).atexit = False
        if self._threads is None:
            self._threads = _is_whole_program()
        SAMPLER.expect(self)
        if self._output is not None or self._prints:
            SAMPLER.expect_at_exit(self.write)
        self.began = perf_counter()

    # What it is.

    @property
    def is_open(self) -> bool:
        """Whether it is entered now, by any thread or task."""
        return bool(self._entries)

    @property
    def is_waiting(self) -> bool:
        """Whether it may still ask for what was recorded."""
        return self.count > 0 and (self._answer is None or self._answer[0] < self._until)

    @property
    def elapsed(self) -> float:
        """Seconds from the first time that it was entered to the last that it was left, or now."""
        return self._until - self.began if self.count else 0.0

    @property
    def duration(self) -> Optional[float]:
        """The same as :attr:`elapsed`."""
        return self.elapsed

    @property
    def _until(self) -> float:
        return perf_counter() if self._entries else self._last

    def __repr__(self) -> str:
        return f"<Region {self.name!r}: {'open' if self._entries else f'{self.elapsed:.3f} s'}>"

    # Its profile.

    def settle(self) -> None:
        """Have the recording that it will be asked about."""
        _ = self._now

    @property
    def _now(self) -> Profile:
        """The profile of a recording that has all until now, or until it was left."""
        if self.error is not None and not isinstance(self.error, Recorded):
            raise self.error
        if self._nothing is not None:
            raise Error(self._nothing.strip())
        if not self.count:
            raise Error(f"the region {self.name!r} has not been entered")
        until = self._until
        if self.counted is not None:
            if self._answer is None or self._answer[0] < until:
                path, kept = SAMPLER.counts(self)
                counts = Profile(path, {}, kept)
                counts._whole = self._default
                self._answer = until, counts
            return self._answer[1]
        if self._answer is None or self._answer[0] < until:
            recording = SAMPLER.recording(until)
            selection = self._selection(recording, until)
            self._answer = (until, Profile(recording.path, selection, recording.kept))
        return self._answer[1]

    @property
    def kept_counts(self) -> Kept:
        """A folder for what it has counted."""
        if self._counts_kept is None:
            self._counts_kept = Kept()
        return self._counts_kept

    def count_lines_of(self, functions: Sequence[Tuple[str, str]]) -> None:
        """Count the lines of these functions alone: the file and the name of each, before it
        begins. An empty name stands for all of the file."""
        assert self.counted is not None
        self.counted.wanted = self.counted.wanted[0], tuple(functions)

    def notes_on_counts(self) -> List[str]:
        """Sentences on what its counts have besides its own."""
        if self._threads:
            return []
        if self.options.trace != "calls" and not self._has_threads:
            return []
        if self.options.trace != "calls":
            what = "lines" if self.options.trace == "lines" else "exceptions"
            return [f"{what} are counted in all threads, also for a region of one thread"]
        if self._is_in_task:
            return ["other tasks of this thread that ran meanwhile are counted, too"]
        return []

    def _selection(self, recording: Recording, until: float) -> Dict[str, Any]:
        """The options that select it."""
        is_labelled = not self._threads and labels.are_known()
        slack = _SLACK if is_labelled else 0.0
        begins = recording.begins
        options: Dict[str, Any] = {
            "from_": f"{max(self.began - slack - begins, 0.0):.6f}",
            "to": f"{max(until + slack - begins, 0.0):.6f}",
        }
        if is_labelled:
            options["span"] = labels.selecting(self._number)
        if self.options.memory == "exact":
            # Sums of all allocations have no times. Their recording has no other regions.
            options["whole_sums"] = True
        return options

    @property
    def _nothing(self) -> Optional[str]:
        """The reason why there is nothing to show, if that is no failure."""
        if isinstance(self.error, Recorded):
            why = SAMPLER.why_unread()
            if why is not None:
                return (
                    f"{self.error}, and {why}: this region is the span {self.name!r} there, as "
                    "`profundo report spans` shows.\n"
                )
        return None

    # Each question is put to one profile, because an open region has another one each time.

    @property
    def functions(self) -> List[Function]:
        """The functions, those with the most time of their own first."""
        return [] if self._nothing else self._now.functions

    @property
    def lines(self) -> List[Line]:
        """The lines that have time of their own, those with the most first."""
        return [] if self._nothing else self._now.lines

    @property
    def cpu_time(self) -> Optional[float]:
        """The CPU time that its samples stand for, in seconds; ``None`` where none is its own."""
        return None if self._nothing else self._now.cpu_time

    def json(
        self, what: str = "summary", name: Optional[str] = None, **options: Any
    ) -> Dict[str, Any]:
        """A report as the document that ``profundo report --json`` prints."""
        return self._of(what, self._now).json(what, name, **options)

    @property
    def _default(self) -> str:
        """The report that stands for the whole."""
        return _OF_COUNTS.get(str(self.options.trace), "summary")

    def _of(self, what: Optional[str], now: Profile) -> Profile:
        """What a report is about: the region, or a recording of it alone.

        Sums of all allocations have no times. Their recording is of this region alone, or of those
        that were open together with it.
        """
        if what in _OF_MEMORY and self._is_alone:
            return Profile(now.path, {}, now._kept)
        return now

    @property
    def _is_alone(self) -> bool:
        """Whether its recording is of this region alone: sums of allocations have no times."""
        return self.options.memory == "exact" and self.error is None

    def select(self, **options: Any) -> Profile:
        """The same with further filters and options, as :meth:`Profile.select`."""
        return self._now.select(**options)

    def flame(self, **options: Any) -> Picture:
        """The flame graph, as :meth:`Profile.flame`."""
        return self._now.flame(**options)

    def heatmap(self, **options: Any) -> Picture:
        """Time against the offset within each second, as :meth:`Profile.heatmap`."""
        return self._now.heatmap(**options)

    def graph(self, **options: Any) -> Picture:
        """Who calls whom, as :meth:`Profile.graph`."""
        return self._now.graph(**options)

    def _head(self) -> Any:
        return self._now._head()

    def _repr_mimebundle_(
        self, include: Optional[Sequence[str]] = None, exclude: Optional[Sequence[str]] = None
    ) -> Dict[str, str]:
        if self._nothing is not None:
            return {"text/plain": self._nothing}
        from .. import _command

        text = self.report(width=120)
        try:
            page = self._whole_or(self._now)._view(self.name).framed(text=text)
        except Error as error:
            # A region without anything in it has no page, and the text says so.
            if error.exit_code != _command.NOTHING_PASSES:
                raise
            return {"text/plain": text}
        return {"text/plain": text, "text/html": page}

    def report(self, what: Optional[str] = None, name: Optional[str] = None, **options: Any) -> str:
        """A report as text, as :meth:`Profile.report`.

        Where no sample was taken in the region, it says so, and shows the whole program.
        """
        if self._nothing is not None:
            return self._nothing
        now = self._now
        if what is None:
            what, options = self._default_by(options)
        head = ""
        if now is not self._of(what, now):
            return self._in_its_words(self._of(what, now).report(what, name, **options))
        if self.counted is None and self._has_nothing(now):
            head = self._empty_sentence() + " This is all that was recorded:\n\n"
            now = Profile(now.path, {}, now._kept)
        return head + self._in_its_words(now.report(what, name, **options))

    def _in_its_words(self, report: str) -> str:
        """A report that names the region in place of the options that select it."""
        # It takes longer to import than all of ours.
        import re

        lines = []
        is_advice = False
        for line in report.splitlines(True):
            # These commands are for a recording that will not be there when they are typed.
            is_advice = (
                line.startswith("Next: ") or is_advice and line.startswith("      profundo ")
            )
            selection = re.match(_SELECTION, line)
            if selection is not None:
                line = f"Only: the region {self.name!r}{line[selection.end() :]}"
            if not is_advice:
                lines.append(line)
        return "".join(lines)

    def save(self, path: Path, format: Optional[str] = None, **options: Any) -> None:
        """Write the profile to a file, as :meth:`Profile.save`.

        A ``.profundo`` file is a recording of this region alone, which every command reads.

        Raises:
            Error: No sample was taken in it, or the file cannot be written.
        """
        if self._nothing is not None:
            return
        from .. import _export

        format = _export.format_of(os.fspath(path), format)
        now = self._now
        if format == _export.RECORDING:
            # What has nothing is a recording, too.
            self._whole_or(now).save(path, format, **options)
            return
        has_samples = format not in _export.COUNTED and "of" not in options
        if has_samples and self._has_nothing(now):
            raise Error(self._empty_sentence())
        if format == _export.PAGE:
            is_forced = bool(options.pop("force", False))
            page = self._whole_or(now.select(**options))._view()
            page.save(path, force=is_forced)
            return
        now.save(path, format, **options)

    def _whole_or(self, now: Profile) -> Profile:
        """What a file of this region is made of."""
        return Profile(now.path, {}, now._kept) if self._is_alone else now

    def _has_nothing(self, now: Profile) -> bool:
        """Whether no sample was taken in it."""
        return bool(now._head()["selection"]["samples"] == 0)

    def _file(self) -> Tuple[str, Any]:
        return self._whole_or(self._now)._file()

    def _empty_sentence(self) -> str:
        return (
            f"No sample was taken in the region {self.name!r} of {1000 * self.elapsed:.1f} ms."
        )

    # A profile looks for these in itself.

    @property
    def path(self) -> str:
        """The file of a recording that has the region. It goes with this object."""
        return self._now.path

    @property
    def _options(self) -> Dict[str, Any]:  # type: ignore[override]
        return self._now._options

    @property
    def _kept(self) -> Optional[Kept]:  # type: ignore[override]
        return self._now._kept

    @property
    def _found(self) -> Dict[str, Any]:  # type: ignore[override]
        return self._now._found

    # At exit.

    def write(self, output: Optional[str] = None) -> None:
        """Write what was asked for, or to this file. A failure is said on the standard error."""
        output = self._output or output
        try:
            if output is not None:
                self.save(output, force=True)
            if self._prints:
                self.print(sys.stderr)
        except Error as error:
            sys.stderr.write(f"profundo: {self.name}: {error}\n")


def _is_whole_program() -> bool:
    """Whether this is the main thread, outside of any task: it stands for the whole program."""
    if get_native_id() != os.getpid():
        return False
    return not _is_in_task()


def _is_in_task() -> bool:
    """Whether this thread runs tasks."""
    asyncio = sys.modules.get("asyncio")
    return asyncio is not None and asyncio._get_running_loop() is not None
