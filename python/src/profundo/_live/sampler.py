"""The one sampler of this process: regions open and close, and ask for what was recorded.

It runs while a region is open, and pauses otherwise. A region's end waits for nothing: the
recording is asked for when somebody looks at it, and then kept for all regions that ended before.
"""

from __future__ import annotations

import atexit
import os
import time
import weakref
from _thread import RLock

from .. import _command
from .._error import Error
from .._profile import Kept, Profile
from . import labels, session
from .counting import Counter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Callable, List, Optional, Tuple, Union

    from .options import Options
    from .region import Region

#: The time after which a recording that nobody will ask for is begun anew, in seconds.
_STALE = 10.0
#: The time until it is tried again to begin, in seconds. A decorated function may be called often.
_AGAIN = 1.0


class Recorded(Error):
    """Another ``profundo`` records this process already, so that regions are spans there."""


class Recording:
    """A recording of all until some time: a file, which goes with this object."""

    def __init__(
        self, path: str, kept: Kept, until: float, clock: float, begins: Optional[float] = None
    ) -> None:
        self.path = path
        self.until = until
        self.kept = kept
        self._clock = clock
        self._begins = begins

    @property
    def begins(self) -> float:
        """Its beginning, as a time of ``time.perf_counter()``."""
        if self._begins is None:
            head = _command.document(["report", self.path, "summary", "--no-config"])["recording"]
            self._begins = head["started_unix_seconds"] - self._clock
        return self._begins


class Sampler:
    """What all regions share. Its methods may be called from any thread."""

    def __init__(self) -> None:
        # A signal handler may open a region while its thread is here.
        self._lock = RLock()
        self._session: Optional[session.Session] = None
        self._outer: Optional[Recorded] = None
        self._reader: Optional[session.Outer] = None
        # Why the other's recording cannot be read meanwhile.
        self._unread: Optional[Error] = None
        self._has_looked = False
        self._open = 0
        self._counter = Counter()
        self._is_paused = False
        self._is_over = False
        # The options that were asked for last: the session has them.
        self._covered: Optional[Options] = None
        self._newest: Optional[Recording] = None
        # What the last try to begin was for that has failed, and why; and when the last one was.
        self._failure: Optional[Tuple[Options, Error]] = None
        self._began = 0.0
        #: Whether each allocation is counted in regions.
        self.is_exact = False
        # The region that sums of allocations are of.
        self._summed: Callable[[], Optional[Region]] = lambda: None
        # Regions that may still ask for what was recorded, and those that will at exit.
        self._waiting: weakref.WeakSet[Region] = weakref.WeakSet()
        self._at_exit: List[Callable[[], None]] = []

    # Regions.

    def enter(self, region: Region) -> Optional[Error]:
        """A region has been entered. An error says why nothing is recorded."""
        with self._lock:
            try:
                living = self._ready(region)
            except Error as error:
                return error
            self._open += 1
            living.note_open(self._open)
            if self._open == 1 and not self._is_paused and living.is_idle:
                self._ask("resume")
            return None

    def leave(self, goes_on: bool) -> None:
        """A region has been left that was entered without an error.

        Args:
            goes_on: It may be entered again, as that of a decorated function is.
        """
        with self._lock:
            self._open -= 1
            if self._session is None:
                return
            self._session.note_open(self._open)
            self._rest(goes_on)

    def count_memory(self, counts: bool) -> None:
        """A region has begun, and each new block counts from now on. Or it is about to end, and
        none does unless another one is open.
        """
        with self._lock:
            is_wanted = counts or self._open == 1
            if self._session is not None and is_wanted and not self._is_paused:
                self._session.count_new(counts)

    def enter_counted(self, region: Region, thread: Optional[int]) -> Optional[Error]:
        """A region has been entered that counts. An error says why nothing is counted.

        Args:
            thread: The thread whose calls are its own; ``None`` for all.
        """
        with self._lock:
            try:
                self._ready_to_count(region)
                assert self._session is not None
                self._counter.enter(self._session, region, thread)
            except Error as error:
                return error
            return None

    def leave_counted(self, region: Region, thread: Optional[int]) -> None:
        """A region has been left that was entered to count, without an error."""
        with self._lock:
            if self._session is not None:
                try:
                    self._counter.leave(self._session, region, thread)
                except Error:
                    # Those that are still open say it when they are asked.
                    pass
                self._rest(False)

    def counts(self, region: Region) -> Tuple[str, Kept]:
        """The path of a recording of what a region has counted, and its folder.

        Raises:
            Error: There is none.
        """
        with self._lock:
            if self._session is None:
                raise Error("nothing was counted")
            kept = Kept()
            return self._counter.recording(self._session, region, kept), kept

    def expect(self, region: Region) -> None:
        """A region will ask for what was recorded, as long as it is there."""
        with self._lock:
            self._waiting.add(region)

    def expect_at_exit(self, write: Callable[[], None]) -> None:
        """What is called when the process ends."""
        with self._lock:
            if not self._at_exit:
                atexit.register(self.end)
            self._at_exit.append(write)

    def recording(self, since: float) -> Recording:
        """A recording that has all until a time at least, of ``time.perf_counter()``.

        Raises:
            Error: There is none.
        """
        with self._lock:
            if self._newest is not None and self._newest.until >= since:
                return self._newest
            source: Union[session.Session, session.Outer, None] = self._session
            if source is None:
                if self._outer is None:
                    raise Error("nothing was recorded")
                source = self._read_outer()
            kept = Kept()
            until = time.perf_counter()
            labels.flush()
            path = source.snapshot(kept)
            self._newest = Recording(path, kept, until, source.clock, source.begins)
            return self._newest

    # What is counted exactly.

    def split(self) -> int:
        """Begin another part of the recording, so that sums until now are apart.

        Raises:
            Error: Nothing is recorded.
        """
        with self._lock:
            return self._living().split()

    def since(self, part: int) -> Profile:
        """What was recorded since :meth:`split`.

        Raises:
            Error: Nothing is recorded.
        """
        with self._lock:
            kept = Kept()
            return Profile(self._living().since(part, kept), None, kept)

    def _living(self) -> session.Session:
        if self._session is None:
            raise Error("nothing is recorded")
        return self._session

    # The whole.

    def pause(self) -> None:
        """Take no samples until :meth:`resume`, whatever is open."""
        with self._lock:
            self._counter.pause(self._session)
            # A recorder has paused by itself where none is open.
            is_alone = self._session is not None and self._session.is_alone
            if not self._is_paused and (self._open or is_alone):
                self._ask("pause")
            self._is_paused = True

    def resume(self) -> None:
        """Take samples again while a region is open."""
        with self._lock:
            if self._is_paused and self._open:
                self._ask("resume", at_once=True)
                self._ask("count_new", counts=True)
            try:
                self._counter.resume(self._session)
            except Error:
                # As in `leave_counted`.
                pass
            self._is_paused = False

    @property
    def is_running(self) -> bool:
        """Whether something is recorded now."""
        return (self._open > 0 or self._counter.is_open) and not self._is_paused

    @property
    def options(self) -> Optional[Options]:
        """What is recorded; ``None`` before the first region."""
        return None if self._session is None else self._session.options

    def end(self) -> None:
        """The process ends: what was asked for is written, and the rest is dropped."""
        with self._lock:
            if self._is_over:
                return
            self._is_over = True
            for write in self._at_exit:
                write()
            if self._session is None:
                return
            output = os.environ.get("PROFUNDO_OUTPUT")
            still_open = [region for region in self._waiting if region.is_open]
            if output and still_open:
                min(still_open, key=lambda region: region.began).write(output)
            self._session.drop()
            self._session = None

    def forked(self) -> None:
        """Called in the child after a fork, in which the calling thread alone goes on."""
        self._lock = RLock()
        # What the parent writes at exit, it writes once.
        self._at_exit = []
        self._counter.forked()
        if self._session is not None:
            self._session.forked()
        if self._reader is not None:
            # The child reads by itself.
            self._reader.forked()
            self._reader = self._newest = None

    def why_unread(self) -> Optional[Error]:
        """Why the recording that another makes of this process cannot be read before its end."""
        with self._lock:
            try:
                self._read_outer()
            except Error as error:
                return error
            return None

    def outer(self) -> Optional[Recorded]:
        """The error of a process that is recorded already, as by ``profundo run``."""
        if self._session is None and self._outer is None and not self._has_looked:
            self._has_looked = True
            recorder = session.outer()
            if recorder is not None:
                self._outer = Recorded(f"this process is recorded by {recorder}")
        return self._outer

    # Inner parts.

    def _read_outer(self) -> session.Outer:
        """What reads the recording that another makes of this process."""
        if self._reader is None:
            if self._unread is not None:
                # Without the places where it was raised before.
                raise self._unread.with_traceback(None)
            try:
                labels.connect()
                self._reader = session.read_outer()
            except Error as error:
                self._unread = error
                raise
        return self._reader

    def _ready(self, region: Region) -> session.Session:
        """Have a session that records what a region asks for."""
        options = region.options
        if self._is_over:
            raise Error("the process is ending")
        if self._session is None:
            return self._begin_first(region, options, False)
        if options is not self._covered:
            recorded = self._session.options
            is_enough = recorded.with_all_of(options) == recorded
            has_waits = recorded.wall and not options.wall
            is_free = not self._open and not self._counter.is_open
            if not is_enough or has_waits and is_free:
                self._answer_waiting()
                self._newest = None
            if (has_waits or not is_enough) and is_free:
                # Waits of an earlier region's recording would fill this one's tables, and samples
                # of CPU time and of elapsed time cannot be in one recording.
                self._replace(options, False)
                self._summed = weakref.ref(region)
            elif not is_enough:
                self._session.widen(options)
            self.is_exact = self._session.is_exact
            self._covered = options
        if self._open:
            return self._session
        if self._session.is_exact and not self._counter.is_open:
            # Sums have no times: a region's are those of a recording of its own.
            if self._summed() is not region:
                self._answer_waiting()
                self._begin_anew()
                self._summed = weakref.ref(region)
        elif self._is_stale():
            self._begin_anew()
        return self._session

    def _begin_first(
        self, region: Region, options: Options, is_paused: bool
    ) -> session.Session:
        """Begin the first session."""
        outer = self.outer()
        if outer is not None:
            raise outer
        now = time.perf_counter()
        if self._failure is not None and now - self._began < _AGAIN:
            failed, why = self._failure
            if options == failed:
                # Without the places where it was raised before.
                raise why.with_traceback(None)
        self._began = now
        try:
            self._session = session.begin(options, self._counter, is_paused, True)
        except Error as error:
            self._failure = options, error
            raise
        self.is_exact = self._session.is_exact
        labels.connect()
        # Functions run in reverse order at exit: this one before temporary files are removed.
        atexit.register(self.end)
        self._summed = weakref.ref(region)
        return self._session

    def _replace(self, options: Options, is_paused: bool) -> None:
        """Begin another session. All that was recorded is dropped."""
        assert self._session is not None
        self._session.drop()
        self._session = None
        self._session = session.begin(options, self._counter, is_paused, True)
        labels.connect()

    def _ready_to_count(self, region: Region) -> None:
        """Have a session. No samples are taken in it for a region that counts."""
        options = region.options.of_recorder
        if self._is_over:
            raise Error("the process is ending")
        if self._session is None:
            self._begin_first(region, options, True)
        elif not self._session.has_recorder:
            self._answer_waiting()
            self._newest = None
            self._covered = None
            self._replace(options, True)

    def _rest(self, goes_on: bool) -> None:
        """Count no allocations while no region wants them. The recorder sees by itself that no
        samples are wanted."""
        if self._open or self._is_paused or self._session is None or not self._session.is_exact:
            return
        # The recorder ends then, and its counts with it.
        if not self._counter.is_open:
            self._ask("close", goes_on=goes_on)

    def _begin_anew(self) -> None:
        """Forget what was recorded so far."""
        assert self._session is not None
        self._newest = None
        self._session.clear()
        self._began = time.perf_counter()

    def _answer_waiting(self) -> None:
        """Regions that are closed get their recording now: a later one may not have their data."""
        for region in list(self._waiting):
            if region.is_waiting and not region.is_open:
                try:
                    region.settle()
                except Error:
                    # It says so when it is asked.
                    pass

    def _is_stale(self) -> bool:
        """Whether there is much in the recording that nobody will ask for."""
        return time.perf_counter() - self._began >= _STALE and self._is_unclaimed()

    def _is_unclaimed(self) -> bool:
        """Whether nobody will ask for what was recorded so far."""
        return not self._open and not any(region.is_waiting for region in self._waiting)

    def _ask(self, request: str, **how: bool) -> None:
        """A request that fails only where the recording is over. A region says that later."""
        try:
            getattr(self._session, request)(**how)
        except Error:
            pass


SAMPLER = Sampler()
os.register_at_fork(after_in_child=SAMPLER.forked)
