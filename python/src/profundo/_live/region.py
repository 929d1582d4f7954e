"""A region: a stretch of work, whose profile is what was recorded of it.

Entering it puts its label, a span, on the samples of this thread or task. So regions may lie in one
another, overlap, and run in many threads and tasks at the same time: each has its own.
"""

from __future__ import annotations

import os
import sys
import threading
import time
import weakref
from contextvars import ContextVar
from types import TracebackType
from typing import Any, Callable, Dict, List, Optional, Tuple, Type, TypeVar

from .._error import Error
from .._profile import Kept, Path, Profile
from . import labels, wrap
from .options import Options
from .sampler import SAMPLER, Recording

F = TypeVar("F", bound=Callable[..., Any])

#: How far a clock of ours may be off the recorder's, in seconds.
_SLACK = 0.0005


class Entry:
    """One entry into a region: what its leaving needs."""

    __slots__ = ("region", "label", "is_counted")

    def __init__(self, region: Region, label: Any, is_counted: bool) -> None:
        self.region = region
        self.label = label
        self.is_counted = is_counted


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
        self._is_named = name is not None
        self._threads = threads
        self._output = None if output is None else os.path.abspath(output)
        self._prints = print
        self._number = 0
        self._first = 0.0
        self._last = 0.0
        self._entries: List[Entry] = []
        self._answer: Optional[Tuple[Recording, float, Profile]] = None

    # Its time.

    def __enter__(self) -> Region:
        entry = self._enter()
        _OPEN.set(_OPEN.get() + (entry,))
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
                entry = opened[index]
                _OPEN.set(opened[:index] + opened[index + 1 :])
                break
        else:
            # A generator may be left in another context than it was entered in.
            if not self._entries:
                return
            entry = self._entries[-1]
        self._leave(entry)

    def __call__(self, function: F) -> F:
        """Decorate a function: all its calls are in this region.

        A generator is in it while it runs. The profile of the calls so far is the attribute
        ``profile`` of the function.
        """
        if not self._is_named:
            self.name = wrap.name_of(function)
            self._is_named = True
        if self._threads is None:
            self._threads = False
        return wrap.decorated(function, self._enter, self._leave, {"profile": self})

    def _enter(self) -> Entry:
        self.error = SAMPLER.enter(self)
        if self.count == 0:
            self._begin()
        self.count += 1
        label = labels.enter(self.name, self._number)
        entry = Entry(self, label, self.error is None)
        self._entries.append(entry)
        return entry

    def _leave(self, entry: Entry) -> None:
        try:
            self._entries.remove(entry)
        except ValueError:
            # It was left already.
            return
        labels.leave(entry.label)
        self._last = time.perf_counter()
        if entry.is_counted:
            SAMPLER.leave()

    def _begin(self) -> None:
        """The first entry."""
        self._number = labels.take_number()
        weakref.finalize(self, labels.give_back, self._number).atexit = False
        if self._threads is None:
            self._threads = _is_the_programs_own()
        self._first = time.perf_counter()
        SAMPLER.expect(self)

    # Its profile.

    @property
    def is_open(self) -> bool:
        """Whether it is entered now, by any thread or task."""
        return bool(self._entries)

    @property
    def elapsed(self) -> float:
        """Seconds from the first time that it was entered to the last that it was left, or now."""
        return self._until - self._first if self.count else 0.0

    @property
    def path(self) -> str:
        """The file of a recording that has it. It goes with this object."""
        return self._profile.path

    @property
    def _until(self) -> float:
        return time.perf_counter() if self._entries else self._last

    @property
    def is_waiting(self) -> bool:
        """Whether it may still ask for what was recorded."""
        return self.count > 0 and (self._answer is None or self._answer[1] < self._last)

    @property
    def _profile(self) -> Profile:
        """The profile of a recording that has all until now, or until it was left."""
        if self.error is not None:
            raise self.error
        if not self.count:
            raise Error(f"the region {self.name!r} has not been entered")
        until = self._until
        if self._answer is None or self._answer[1] < until:
            recording = SAMPLER.recording(until)
            selection = self._selection(recording, until)
            profile = Profile(recording.path, selection, recording.kept)
            self._answer = (recording, until, profile)
        return self._answer[2]

    def _selection(self, recording: Recording, until: float) -> Dict[str, Any]:
        """The options that select it."""
        is_labelled = not self._threads and labels.are_there()
        slack = _SLACK if is_labelled else 0.0
        begins = recording.begins
        options: Dict[str, Any] = {
            "from_": f"{max(self._first - slack - begins, 0.0):.6f}",
            "to": f"{max(until + slack - begins, 0.0):.6f}",
        }
        if is_labelled:
            options["span"] = labels.selecting(self._number)
        return options

    # A profile looks for these in itself.

    @property
    def _path(self) -> str:
        return self._profile.path

    @property
    def _options(self) -> Dict[str, Any]:
        return self._profile._options

    @property
    def _kept(self) -> Optional[Kept]:
        return self._profile._kept

    @property
    def _found(self) -> Dict[str, Any]:
        return self._profile._found

    def __repr__(self) -> str:
        return f"<Region {self.name!r}: {'open' if self._entries else f'{self.elapsed:.3f} s'}>"

    # At exit.

    def at_exit(self) -> None:
        """The process ends: what was asked for is written."""
        if self._output is None and not self._prints:
            return
        try:
            if self._output is not None:
                self.save(self._output, force=True)
            if self._prints:
                self.print(sys.stderr)
        except Error as error:
            sys.stderr.write(f"profundo: {self.name}: {error}\n")


def _is_the_programs_own() -> bool:
    """Whether this is the main thread, outside of any task: it stands for the whole program."""
    if threading.current_thread() is not threading.main_thread():
        return False
    asyncio = sys.modules.get("asyncio")
    return asyncio is None or asyncio._get_running_loop() is None
