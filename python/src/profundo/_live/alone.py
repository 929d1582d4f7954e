"""This process records itself without a recorder, because it may start no process.

Its threads sample themselves by timers of the kernel, and keep the samples in its own memory. What
they have at an end is a raw recording: a file that the command reads like any other, and that needs
no process to be written. ``profundo_save::raw`` describes it to the byte.
"""

from __future__ import annotations

import os

from .._error import Error
from . import agent, labels

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, Iterable, Optional, Tuple

    from .options import Options

#: The first bytes of a raw recording, with its version.
_HEAD = b"\x89PROFUNDO-R\r\n\x1a\x01\x00"

#: The part of a file that has texts.
_TEXTS = 1

#: Samples per second where none are asked for, as the command has it.
_RATE = 1000

#: The options that a file can say what it is a part of.
_SELECTING = ("from_", "to", "span", "whole_sums")

#: What is recorded by a recorder alone.
_REFUSED = (
    ("memory", "allocations are"),
    ("wall", "waits are"),
    ("syscalls", "system calls are"),
)


class Alone:
    """In the place of a recorder: it answers what :class:`~.session.Session` says to one.

    Samples are taken only while a region is open and nothing is paused. So what lies between two
    regions takes no memory.
    """

    #: As of a recorder. It prepares no counts.
    counting: Optional[Tuple[Any, int]] = None
    #: It pauses by itself, and goes on by itself.
    is_idle = False

    def __init__(self, path: str, options: Options, is_paused: bool, why: Error) -> None:
        self._why = f"no process may be started ({why})"
        for name, what in _REFUSED:
            if getattr(options, name):
                raise Error(f"{what} not recorded here, because {self._why}")
        self._path = path
        self._is_paused = is_paused
        self._open = 0
        self._period = 1_000_000_000 // (options.rate or _RATE)
        self._owner = os.getpid()
        self._begin()


    def note_open(self, count: int) -> None:
        """See :meth:`~.session.Session.note_open`."""
        self._open = count
        self._tell()

    def say(self, word: str, *fields: str) -> None:
        """Do what a recorder is told."""
        if word in ("pause", "resume"):
            self._is_paused = word == "pause"
            self._tell()
        elif word == "clear":
            # The code of functions that were met is known to the agent as written already.
            agent.part()
            self._begin()
        elif word == "snapshot":
            self._write(fields[0])
        else:
            raise Error(f"nothing is counted here, because {self._why}")

    def ask(self, answer: str, word: str, *fields: str) -> Tuple[bytes, ...]:
        """Do it, and return nothing further."""
        self.say(word, *fields)
        return ()

    def tell(self, answer: str, word: str, *fields: str) -> None:
        """Do it."""
        self.say(word, *fields)

    def settle(self) -> None:
        """No answer is owed."""

    def run(self, words: object) -> None:
        """There is no process that could run a command."""

    def end(self) -> None:
        """End, and leave a raw recording."""
        try:
            self._write(self._path)
        finally:
            self.drop()

    def drop(self) -> None:
        """End, and leave nothing."""
        if os.getpid() == self._owner:
            agent.part()

    def close(self) -> None:
        """This is a child of the process: it has no part in the recording."""

    def _begin(self) -> None:
        agent.alone(self._period)
        #: Its beginning, in seconds since 1970.
        self.began = agent.began() / 1e9
        labels.connect()
        self._tell()

    def _tell(self) -> None:
        if os.getpid() == self._owner:
            agent.open_regions(0 if self._is_paused else self._open)

    def _write(self, path: str) -> None:
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        try:
            _write_all(file, _HEAD + _texts(_facts()))
            agent.keep(file)
        except OSError as error:
            raise Error(f"cannot write {path}: {error.strerror}") from None
        finally:
            os.close(file)


def is_raw(path: str) -> bool:
    """Whether a file is a raw recording."""
    try:
        with open(path, "rb") as file:
            return file.read(len(_HEAD) - 2) == _HEAD[:-2]
    except OSError:
        return False


def selection(options: Dict[str, Any]) -> bytes:
    """What is put behind a raw recording of which a part is meant.

    Raises:
        Error: Only the command can make that part.
    """
    other = [name for name in options if name not in _SELECTING]
    if other:
        raise Error(f"the command is wanted for {other[0]}, and no process may be started here")
    chosen = [(name.rstrip("_"), str(options[name])) for name in _SELECTING[:3] if name in options]
    return _texts((name, os.fsencode(value)) for name, value in chosen)


def _facts() -> Iterable[Tuple[str, bytes]]:
    """What is known of this process."""
    try:
        with open("/proc/self/cmdline", "rb") as file:
            yield "command", file.read()
        yield "program", os.readlink(b"/proc/self/exe")
        yield "directory", os.getcwdb()
    except OSError:
        # Names can be found without.
        pass
    for name in os.environ:
        yield "variable", os.fsencode(name)


def _texts(lines: Iterable[Tuple[str, bytes]]) -> bytes:
    """A part of texts."""
    text = b"".join(name.encode() + b"\t" + _escaped(value) + b"\n" for name, value in lines)
    head = _TEXTS.to_bytes(8, "little") + len(text).to_bytes(8, "little")
    return head + text + bytes(-len(text) % 8)


def _escaped(value: bytes) -> bytes:
    for byte in b"%\t\n":
        value = value.replace(bytes([byte]), b"%%%02x" % byte)
    return value


def _write_all(file: int, data: bytes) -> None:
    while data:
        data = data[os.write(file, data) :]
