"""A recording of this process by itself, while it goes on.

All knowledge of how it comes about is in this file. Others see :func:`begin` and :class:`Session`.

In this version ``profundo attach --inside`` runs as a child, and is interrupted where its recording
is wanted. The next one follows at once, and their recordings are put together.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from typing import List, Optional

from .. import _binary, _command
from .._error import Error
from .._profile import Kept
from .options import Options

#: What the command says once it records.
_RECORDING = b"recording process"


def begin(options: Options) -> Session:
    """Begin to record this process. Returns when samples are taken.

    Raises:
        Error: It cannot be recorded. The message says why.
    """
    return Session(options)


def outer() -> Optional[str]:
    """What records this process already, in a few words; ``None`` where nothing does."""
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
        self._owner = os.getpid()
        self._begin()

    def pause(self) -> None:
        """Take no samples until :meth:`resume`."""
        self._is_paused = True
        self._control("stop")

    def resume(self) -> None:
        """Take samples again."""
        self._is_paused = False
        self._control("start")

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
        self._control("clear")

    def snapshot(self, kept: Kept) -> str:
        """The path of a whole recording of all until now, in a folder of the caller's."""
        self._end()
        self._begin()
        return self._whole(kept)

    def stop(self, kept: Kept) -> str:
        """End, and return the path of the whole recording, in a folder of the caller's."""
        self._end()
        return self._whole(kept)

    def drop(self) -> None:
        """End, and keep nothing."""
        if os.getpid() == self._owner:
            self._end()

    def forked(self) -> None:
        """Called in the child after a fork. It goes on under the same recorder."""

    # Inner parts: one process of the command after another.

    def _begin(self) -> None:
        self._number += 1
        path = self._kept.file(f"part-{self._number}.profundo")
        words = ["attach", str(os.getpid()), "--inside", "--no-config", "--output=" + path]
        words += self.options.words()
        binary = _binary.find()
        try:
            self._process = subprocess.Popen(
                [binary] + words,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
        except OSError as error:
            raise Error(f"cannot run {binary}: {error.strerror}", None, tuple(words)) from None
        said = b""
        assert self._process.stderr is not None
        for line in self._process.stderr:
            said += line
            if _RECORDING in line:
                break
        else:
            code = self._process.wait()
            sentence = _command.sentence(said.decode("utf-8", "replace"), code)
            raise Error(sentence, code, ("profundo", *words))
        self._path = path
        if self._is_paused:
            self._control("stop")

    def _end(self) -> None:
        if os.getpid() != self._owner:
            raise Error("this process was forked: what it does is in the recording of its parent")
        self._process.send_signal(signal.SIGINT)
        _, said = self._process.communicate()
        if os.path.exists(self._path):
            self._parts.append(self._path)
        elif self._process.returncode not in (0, _command.NOTHING_PASSES):
            code = self._process.returncode
            raise Error(_command.sentence(said.decode("utf-8", "replace"), code), code)

    def _whole(self, kept: Kept) -> str:
        path = kept.file("live.profundo")
        if not self._parts:
            raise Error("nothing was recorded")
        words = ["merge", "--align=clock"] if len(self._parts) > 1 else []
        if not words:
            os.link(self._parts[0], path)
            return path
        _command.run(words + self._parts + ["--output=" + path])
        return path

    def _control(self, request: str) -> None:
        _command.run(["ctl", self._owner, request])

