"""Exact counts of regions: of calls, lines or exceptions.

The agent counts in all threads of this process, from one moment to another: a stretch. A stretch
ends whenever a region that counts begins or ends. It belongs to all regions that were open in it,
so the counts of regions are exact, however they overlap. Where one stretch follows another, the
agent cuts: no thread runs Python in between.
"""

from __future__ import annotations

import os
import weakref
from itertools import count

from .._error import Error
from . import agent

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Dict, List, Optional, Tuple

    from .._profile import Kept
    from .region import Region
    from .session import Session

    #: What is counted, and of which functions: a file and a name for each, none for all own ones.
    Wanted = Tuple[str, Tuple[Tuple[str, str], ...]]

#: What each kind counts, in words.
WORDS = {"calls": "calls", "lines": "lines", "exceptions": "exceptions"}

#: The folder of this package, whose functions are not the program's.
PACKAGE = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "")

_numbers = count(1)


class Counted:
    """What a region has counted so far.

    Args:
        wanted: What is counted.
    """

    def __init__(self, wanted: Wanted) -> None:
        self.wanted = wanted
        #: Its number for the recorder.
        self.number = next(_numbers)
        #: Whether the recorder that goes on has counts of it.
        self.is_there = False
        #: Recordings of counts that earlier recorders had.
        self.parts: List[str] = []


class Counter:
    """The counting of this process. Its callers hold the sampler's lock."""

    def __init__(self) -> None:
        # How often each region is open, by its number and the thread whose calls are its own.
        self._open: Dict[Tuple[int, Optional[int]], int] = {}
        # What is counted while any is open.
        self._wanted: Optional[Wanted] = None
        self._is_on = False
        self._is_paused = False
        # Regions whose counts are not wanted any more.
        self._forgotten: List[int] = []
        self._regions: weakref.WeakSet[Region] = weakref.WeakSet()

    @property
    def is_open(self) -> bool:
        """Whether a region that counts is open."""
        return bool(self._open)

    def enter(self, session: Session, region: Region, thread: Optional[int]) -> None:
        """A region begins. Counting begins at the end of this.

        Args:
            thread: The thread whose calls are its own; ``None`` for all.

        Raises:
            Error: Nothing can be counted.
        """
        counted = region.counted
        assert counted is not None
        key = (counted.number, thread)
        if key in self._open:
            # It is within itself.
            self._open[key] += 1
            return
        if self._open and counted.wanted != self._wanted:
            assert self._wanted is not None
            ours, theirs = WORDS[counted.wanted[0]], WORDS[self._wanted[0]]
            which = f"{theirs} of other functions" if ours == theirs else theirs
            raise Error(f"{ours} are not counted: a region that counts {which} is open")
        if region not in self._regions:
            self._regions.add(region)
            weakref.finalize(region, self._forgotten.append, counted.number).atexit = False
        before = list(self._open)
        self._open[key] = 1
        self._wanted = counted.wanted
        counted.is_there = True
        try:
            if self._is_on:
                self._cut_and_go(session, before)
            else:
                self._go(session)
        except Error:
            del self._open[key]
            raise

    def leave(self, session: Session, region: Region, thread: Optional[int]) -> None:
        """A region ends. Counting ends at the beginning of this."""
        counted = region.counted
        assert counted is not None
        key = (counted.number, thread)
        depth = self._open.get(key, 0)
        if depth > 1:
            self._open[key] = depth - 1
            return
        before = list(self._open)
        self._open.pop(key, None)
        if self._is_on and self._open:
            self._cut_and_go(session, before)
        else:
            self._cut(session, before)

    def pause(self, session: Optional[Session]) -> None:
        """Count nothing until :meth:`resume`."""
        self._cut(session)
        self._is_paused = True

    def resume(self, session: Optional[Session]) -> None:
        """Count again while a region is open."""
        self._is_paused = False
        if self._open and not self._is_on and session is not None:
            self._go(session)

    def recording(self, session: Session, region: Region, kept: Kept) -> str:
        """The path of a recording of what a region has counted so far.

        Raises:
            Error: It has counted nothing, or the recorder has ended.
        """
        counted = region.counted
        assert counted is not None
        if self._is_on:
            self._cut_and_go(session, list(self._open))
        parts = list(counted.parts)
        if counted.is_there:
            parts.append(kept.file("counts.profundo"))
            session.counts(parts[-1], region)
        if not parts:
            raise Error("nothing was counted")
        if len(parts) == 1:
            return parts[0]
        from .. import _command

        path = kept.file("all-counts.profundo")
        _command.run(["merge", *parts, "--output=" + path])
        return path

    # A recorder ends, and another one begins.

    def recorder_ends(self, session: Session) -> None:
        """The recorder is about to end: what it has of regions is kept."""
        self._cut(session)
        for region in list(self._regions):
            counted = region.counted
            if counted is not None and counted.is_there:
                path = region.kept_counts.file(f"counts-{len(counted.parts)}.profundo")
                session.counts(path, region)
                counted.parts.append(path)
                counted.is_there = False

    def recorder_began(self, session: Session) -> None:
        """Another recorder has begun."""
        if not self._open:
            return
        numbers = {number for number, _ in self._open}
        for region in list(self._regions):
            if region.counted is not None and region.counted.number in numbers:
                region.counted.is_there = True
        if not self._is_paused:
            self._go(session)

    def recorder_drops(self) -> None:
        """The recorder ends, and its counts are not wanted."""
        if self._is_on:
            agent.end_counts()
            self._is_on = False

    def forked(self) -> None:
        """Called in the child after a fork, which counts nothing: it has no recorder to tell."""
        self.recorder_drops()
        self._open.clear()

    # Inner parts.

    def _cut(
        self, session: Optional[Session], regions: Optional[List[Tuple[int, Optional[int]]]] = None
    ) -> None:
        """End the stretch that goes on, if there is one. It belongs to these regions, or to those
        that are open."""
        if not self._is_on or session is None:
            return
        # First: all that comes behind it is not counted.
        agent.end_counts()
        self._is_on = False
        self._tell(session, list(self._open) if regions is None else regions)

    def _cut_and_go(self, session: Session, regions: List[Tuple[int, Optional[int]]]) -> None:
        """End the stretch of these regions, and begin another one at the same moment: other threads
        go on, and all that they do is in one of the two."""
        assert self._wanted is not None
        try:
            flags = session.count(self._wanted)
        except Error:
            # Without a recorder nothing is counted any more.
            self._cut(session, regions)
            raise
        why = agent.cut_counts(flags)
        self._is_on = why == 0
        self._tell(session, regions)
        self._check(session, why)

    def _tell(self, session: Session, regions: List[Tuple[int, Optional[int]]]) -> None:
        """Have the recorder keep what was counted for these regions."""
        # Others may be forgotten meanwhile.
        forgotten = self._forgotten[:]
        del self._forgotten[: len(forgotten)]
        try:
            session.counted(forgotten, regions)
        except Error:
            # The recorder has ended, which regions say when they are asked.
            pass

    def _go(self, session: Session) -> None:
        """Begin a stretch."""
        if self._is_paused:
            return
        assert self._wanted is not None
        flags = session.count(self._wanted)
        self._is_on = True
        why = agent.begin_counts(flags)
        self._is_on = why == 0
        self._check(session, why)

    def _check(self, session: Session, why: int) -> None:
        if why != 0:
            assert self._wanted is not None
            what = WORDS[self._wanted[0]]
            raise Error(f"{what} cannot be counted in this process: {session.why(why)}")
