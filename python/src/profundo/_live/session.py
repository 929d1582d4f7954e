"""A recording of this process by itself, while it goes on.

All knowledge of how it comes about is in this file and in :mod:`.agent`. Others see :func:`begin`
and :class:`Session`.

The recorder is a process of the command ``profundo beside``. It holds the clocks, reads what the
agent in this process writes, and keeps the file. The two talk over a socket, in lines of text.
"""

from __future__ import annotations

import os
import time

from .._error import Error
from .._profile import Kept
from . import agent

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import List, Optional, Tuple

    from .options import Options

#: The seconds that the recorder has for an answer.
_PATIENCE = 30


def begin(options: Options) -> Session:
    """Begin to record this process. Returns when samples are taken.

    Raises:
        Error: It cannot be recorded. The message says why.
    """
    return Session(options)


def outer() -> Optional[str]:
    """What records this process already, in a few words; ``None`` where nothing does."""
    if "PROFUNDO_SESSION" not in os.environ:
        return None
    try:
        with open("/proc/self/maps", "rb") as maps:
            if b"/libprofundo-agent-" in maps.read():
                return "another profundo"
    except OSError:
        pass
    return None


class Session:
    """A recording that goes on. Its calls come one at a time: :mod:`.sampler` has a lock."""

    #: What is recorded.
    options: Options
    #: What is added to ``time.perf_counter()`` for the time since 1970, by which recordings name
    #: their beginning.
    clock: float

    def __init__(self, options: Options) -> None:
        self.options = options
        self.clock = time.time() - time.perf_counter()
        self._kept = Kept()
        self._parts: List[str] = []
        self._number = 0
        self._is_paused = False
        self._recorder: Optional[_Recorder] = None
        self._owner = os.getpid()
        self._begin()

    def pause(self) -> None:
        """Take no samples until :meth:`resume`."""
        self._is_paused = True
        self._living().say("pause")

    def resume(self) -> None:
        """Take samples again."""
        self._is_paused = False
        self._living().say("resume")

    def widen(self, options: Options) -> None:
        """Record what these options have, too, from now on.

        Raises:
            Error: That cannot be recorded. What was recorded before goes on.
        """
        before = self.options
        self._end()
        self.options = self.options.with_all_of(options)
        try:
            self._begin()
        except Error:
            self.options = before
            self._begin()
            raise

    def clear(self) -> None:
        """Forget what was recorded so far."""
        self._parts = []
        self._living().say("clear")

    def snapshot(self, kept: Kept) -> str:
        """The path of a whole recording of all until now, in a folder of the caller's."""
        if self.options.memory:
            # The sums of allocations are in a recording from its end on.
            self._end()
            self._begin()
            return self._whole(self._parts, kept)
        path = kept.file("now.profundo")
        recorder = self._living()
        recorder.say("snapshot", path)
        recorder.expect("written")
        return self._whole([*self._parts, path], kept)

    def stop(self, kept: Kept) -> str:
        """End, and return the path of the whole recording, in a folder of the caller's."""
        self._end()
        return self._whole(self._parts, kept)

    def drop(self) -> None:
        """End, and keep nothing."""
        if os.getpid() == self._owner and self._recorder is not None:
            self._recorder, recorder = None, self._recorder
            recorder.drop()

    def forked(self) -> None:
        """Called in the child after a fork. It goes on under the same recorder."""
        if self._recorder is not None:
            self._recorder.close()

    # Inner parts: one recorder after another.

    def _begin(self) -> None:
        self._number += 1
        self._path = self._kept.file(f"part-{self._number}.profundo")
        self._recorder = _Recorder(self._path, self.options, self._is_paused)

    def _end(self) -> None:
        recorder = self._living()
        self._recorder = None
        recorder.end()
        if os.path.exists(self._path):
            self._parts.append(self._path)

    def _living(self) -> _Recorder:
        if os.getpid() != self._owner:
            raise Error("this process was forked: what it does is in the recording of its parent")
        if self._recorder is None:
            raise Error("the recording is over")
        return self._recorder

    def _whole(self, parts: List[str], kept: Kept) -> str:
        from .. import _command

        if not parts:
            raise Error("nothing was recorded")
        path = kept.file("live.profundo")
        if len(parts) > 1:
            _command.run(["merge", "--align=clock", *parts, "--output=" + path])
        else:
            try:
                os.link(parts[0], path)
            except OSError:
                import shutil

                shutil.copyfile(parts[0], path)
        return path


class _Recorder:
    """The recorder's process, and the agent here that it records by."""

    def __init__(self, path: str, options: Options, is_paused: bool) -> None:
        # Not `socket`, which other tools replace by their own, and which takes longer to import.
        import _socket

        words = ["beside", f"--pid={os.getpid()}", "--output=" + path, "--temporary"]
        words += options.words()
        if is_paused:
            words.append("--paused")
        self._socket, theirs = _socket.socketpair()
        self._rest = b""
        self._has_joined = False
        try:
            self._socket.settimeout(_PATIENCE)
            try:
                agent.start(words, theirs.fileno())
            finally:
                theirs.close()
            directory, preload = self.expect("come")
            joined = agent.join(directory, preload)
            self._has_joined = joined == 0
            self.say("entered", str(joined))
            self.expect("ready")
        except BaseException:
            self.drop()
            raise

    def say(self, word: str, *fields: str) -> None:
        """Send a line."""
        import _socket

        line = "\t".join([word, *fields]) + "\n"
        try:
            # Its end is no signal to this process.
            rest = os.fsencode(line)
            while rest:
                rest = rest[self._socket.send(rest, _socket.MSG_NOSIGNAL) :]
        except OSError:
            # It may have said why it ends.
            if self._line().startswith(b"refused\t"):
                raise
            raise Error("the recorder has ended") from None

    def expect(self, word: str) -> Tuple[bytes, ...]:
        """Wait for a line with this word, and return its fields.

        Raises:
            Error: The recorder says why it does not send it, or has ended.
        """
        line = self._line()
        said, *fields = line.rstrip(b"\n").split(b"\t")
        if said == b"refused":
            raise Error(b" ".join(fields).decode("utf-8", "replace"))
        if said != word.encode():
            raise Error("the recorder has ended" if not line else f"the recorder says {line!r}")
        return tuple(fields)

    def end(self) -> None:
        """End the recording, and wait until its file is whole."""
        try:
            self.say("end")
            self.expect("leave")
            self._part()
            self.say("left")
            self.expect("done")
        finally:
            self.drop()

    def drop(self) -> None:
        """Have the recorder end. Its file goes, unless it is whole."""
        self.close()
        self._part()

    def close(self) -> None:
        """Talk no more."""
        self._socket.close()

    def _part(self) -> None:
        if self._has_joined:
            self._has_joined = False
            agent.part()

    def _line(self) -> bytes:
        """The next line with its end, or less at the end of all."""
        while b"\n" not in self._rest:
            try:
                more = self._socket.recv(4096)
            except OSError as error:
                raise Error(f"the recorder does not answer: {error}") from None
            if not more:
                break
            self._rest += more
        line, end, self._rest = self._rest.partition(b"\n")
        return line + end
