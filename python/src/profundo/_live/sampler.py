"""The one sampler of this process: regions open and close, and ask for what was recorded.

It runs while a region is open, and pauses otherwise. A region's end waits for nothing: the
recording is asked for when somebody looks at it, and then kept for all regions that ended before.
"""

from __future__ import annotations

import atexit
import os
import threading
import time
import weakref
from typing import TYPE_CHECKING, Optional

from .. import _command
from .._error import Error
from .._profile import Kept
from . import session
from .options import Options

if TYPE_CHECKING:
    from .region import Region


class Recording:
    """A recording of all until some time: a file, which goes with this object."""

    def __init__(self, path: str, kept: Kept, until: float, clock: float) -> None:
        self.path = path
        self.until = until
        self.kept = kept
        self._clock = clock
        self._begins: Optional[float] = None

    @property
    def begins(self) -> float:
        """Its beginning, as a time of ``time.perf_counter()``."""
        if self._begins is None:
            head = _command.document(["report", self.path, "summary"])["recording"]
            self._begins = head["started_unix_seconds"] - self._clock
        return self._begins


class Sampler:
    """What all regions share. Its methods may be called from any thread."""

    def __init__(self) -> None:
        # A signal handler may open a region while its thread is here.
        self._lock = threading.RLock()
        self._session: Optional[session.Session] = None
        self._open = 0
        self._is_paused = False
        self._newest: Optional[Recording] = None
        #: Regions that may still ask for what was recorded.
        self._waiting: weakref.WeakSet[Region] = weakref.WeakSet()

    # Regions.

    def enter(self, region: Region) -> Optional[Error]:
        """A region has been entered. An error says why nothing is recorded."""
        with self._lock:
            try:
                self._ready(region.options)
            except Error as error:
                return error
            self._open += 1
            if self._open == 1 and not self._is_paused:
                self._asked("resume")
            return None

    def leave(self) -> None:
        """A region has been left."""
        with self._lock:
            self._open -= 1
            if self._open == 0 and not self._is_paused:
                self._asked("pause")

    def expect(self, region: Region) -> None:
        """A region will ask for what was recorded, as long as it is there."""
        self._waiting.add(region)

    def recording(self, since: float) -> Recording:
        """A recording that has all until a time at least, of ``time.perf_counter()``.

        Raises:
            Error: There is none.
        """
        with self._lock:
            if self._newest is not None and self._newest.until >= since:
                return self._newest
            if self._session is None:
                raise Error("nothing was recorded")
            kept = Kept()
            until = time.perf_counter()
            path = self._session.snapshot(kept)
            self._newest = Recording(path, kept, until, self._session.clock)
            return self._newest

    # The whole.

    def pause(self) -> None:
        """Take no samples until :meth:`resume`, whatever is open."""
        with self._lock:
            if not self._is_paused and self._open and self._session is not None:
                self._asked("pause")
            self._is_paused = True

    def resume(self) -> None:
        """Take samples again while a region is open."""
        with self._lock:
            if self._is_paused and self._open and self._session is not None:
                self._asked("resume")
            self._is_paused = False

    @property
    def is_running(self) -> bool:
        """Whether samples are taken now."""
        return bool(self._open) and not self._is_paused

    @property
    def options(self) -> Optional[Options]:
        """What is recorded; ``None`` before the first region."""
        return None if self._session is None else self._session.options

    # Inner parts.

    def _ready(self, options: Options) -> None:
        """Have a session that records what these options ask for."""
        if self._session is None:
            self._session = session.begin(options)
            return
        wanted = self._session.options.with_all_of(options)
        if wanted != self._session.options:
            self._session.widen(options)
        if not self._open and not self._is_awaited():
            # What was recorded so far is no one's.
            self._newest = None
            self._session.clear()

    def _is_awaited(self) -> bool:
        return any(region.is_waiting for region in self._waiting)

    def _asked(self, request: str) -> None:
        """A request that may fail only because the recording is over, which a region says later."""
        try:
            getattr(self._session, request)()
        except Error:
            pass

    def end(self) -> None:
        """The process ends: what has an output is saved, and the rest is dropped."""
        with self._lock:
            if self._session is None:
                return
            for region in list(self._waiting):
                region.at_exit()
            self._session.drop()
            self._session = None

    def forked(self) -> None:
        """Called in the child after a fork, in which the calling thread alone goes on."""
        self._lock = threading.RLock()
        if self._session is not None:
            self._session.forked()


SAMPLER = Sampler()
atexit.register(SAMPLER.end)
os.register_at_fork(after_in_child=SAMPLER.forked)
