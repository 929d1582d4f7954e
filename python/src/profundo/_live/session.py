"""A recording of this process by itself, while it goes on.

All knowledge of how it comes about is in this file and in :mod:`.agent`. Others see :func:`begin`
and :class:`Session`.

The recorder is a process of the command ``profundo beside``. It holds the clocks, reads what the
agent in this process writes, and keeps the file. The two talk over a socket, in lines of text.

Where no process may be started, :class:`~.alone.Alone` takes the recorder's place.
"""

from __future__ import annotations

import os
import time
from _thread import RLock

from .._error import Error, NoProcess
from .._profile import Kept
from . import agent
from .counting import PACKAGE

TYPE_CHECKING = False
if TYPE_CHECKING:
    import ctypes
    from typing import List, Optional, Tuple, Union

    from .alone import Alone
    from .counting import Counter, Wanted
    from .options import Options
    from .region import Region

#: The seconds that the recorder has for an answer.
_PATIENCE = 30


def begin(
    options: Options,
    counter: Optional[Counter] = None,
    is_paused: bool = False,
    for_one: bool = False,
) -> Session:
    """Begin to record this process. Returns when samples are taken.

    Args:
        options: What is recorded.
        counter: What counts in it. It gets a call when a recorder begins and when one ends.
        is_paused: Whether no samples are taken until :meth:`Session.resume`.
        for_one: Whether it is for a region that begins: that says when its blocks count.

    Raises:
        Error: It cannot be recorded. The message says why.
    """
    global _current
    _current = Session(options, counter, is_paused, for_one)
    return _current


def read_outer() -> Outer:
    """Begin to read the recording that another ``profundo`` makes of this process.

    Raises:
        Error: It cannot be read before the end. The message says why.
    """
    global _current
    outer = Outer()
    _current = outer
    return outer


#: The session that goes on, or the last one; or what reads another's recording.
_current: Union[Session, Outer, None] = None


def run(words: List[str]) -> Optional[Tuple[int, bytes, bytes]]:
    """Have the recorder run another command.

    Returns:
        Its exit code, its output and its messages; ``None`` where there is no recorder.
    """
    return None if _current is None else _current.run(words)


def outer() -> Optional[str]:
    """What records this process already, in a few words; ``None`` where nothing does."""
    try:
        with open("/proc/self/maps", "rb") as maps:
            mapped = maps.read()
    except OSError:
        return None
    # An agent that has left keeps its library, and nothing of a session.
    if b"/libprofundo-agent-" in mapped and any(
        line.endswith(b"/control") and b"/profundo-" in line for line in mapped.split(b"\n")
    ):
        return "another profundo"
    return None


class Session:
    """A recording that goes on. Its calls come one at a time: :mod:`.sampler` has a lock."""

    #: What is recorded.
    options: Options
    #: What is added to ``time.perf_counter()`` for the time since 1970, by which recordings name
    #: their beginning.
    clock: float

    def __init__(
        self,
        options: Options,
        counter: Optional[Counter] = None,
        is_paused: bool = False,
        for_one: bool = False,
    ) -> None:
        self.options = options
        self._counter = counter
        self.clock = time.time() - time.perf_counter()
        self._kept = Kept()
        self._parts: List[str] = []
        self._number = 0
        self._is_paused = is_paused
        # The number of open regions; ``None`` where there are none at all.
        self._open: Optional[int] = None
        # Whether no new block is counted, where each one is.
        self._is_closed = False
        self._recorder: Union[_Recorder, Alone, None] = None
        self._owner = os.getpid()
        self._begin(for_one)

    @property
    def has_recorder(self) -> bool:
        """Whether there is a recorder now."""
        return self._recorder is not None

    @property
    def is_alone(self) -> bool:
        """Whether there is no recorder, because no process may be started."""
        return self._recorder is not None and self._recorder.began is not None

    @property
    def begins(self) -> Optional[float]:
        """The beginning of a recording of all until now, as a time of ``time.perf_counter()``;
        ``None`` where the recording has it and the command says it."""
        began = None if self._parts or self._recorder is None else self._recorder.began
        return None if began is None else began - self.clock

    def pause(self) -> None:
        """Record nothing any more until :meth:`resume`.

        Sums of all allocations have no times, so the recorder ends then, and another one follows.
        """
        self._is_paused = True
        if self.is_exact:
            self._end()
        else:
            self._living().ask("paused", "pause", "answer")

    def resume(self, *, at_once: bool = False) -> None:
        """Record again: from some moment soon, or before this returns."""
        was_paused, self._is_paused = self._is_paused, False
        if self._recorder is None and os.getpid() == self._owner:
            self._begin(for_one=True)
            return
        recorder = self._living()
        if not was_paused and not recorder.is_idle:
            return
        if self.options.memory or at_once:
            # Each allocation counts, while CPU time is only sampled.
            recorder.ask("resumed", "resume", "answer")
        else:
            recorder.say("resume")

    @property
    def is_exact(self) -> bool:
        """Whether each allocation counts."""
        return self.options.memory == "exact"

    def note_open(self, count: int) -> None:
        """So many regions are open. Soon after the last one, the recorder pauses by itself."""
        self._open = count
        if self._recorder is not None:
            self._recorder.note_open(count)

    @property
    def is_idle(self) -> bool:
        """Whether there is nothing recorded before :meth:`resume`."""
        recorder = self._recorder
        return recorder is None or self._is_paused or self._is_closed or recorder.is_idle

    def close(self, *, goes_on: bool) -> None:
        """No region is open, and each allocation counts: no new one does from now on.

        Their sums have no times. So the recorder ends, unless the same region ``goes_on`` later.
        """
        if goes_on:
            self._living()
            self.count_new(False)
        else:
            self._end()

    def count_new(self, counts: bool) -> None:
        """Whether new blocks are counted, where each one is."""
        is_living = self._recorder is not None and os.getpid() == self._owner
        if self.is_exact and is_living and self._is_closed == counts:
            self._is_closed = not counts
            agent.count_new(counts)

    def widen(self, options: Options) -> None:
        """Record what these options have, too, from now on.

        Raises:
            Error: That cannot be recorded. What was recorded before goes on.
        """
        before = self.options
        if self._recorder is not None:
            self._end()
        self.options = self.options.with_all_of(options)
        is_other_memory = before.memory and before.memory != self.options.memory
        if is_other_memory or before.wall != self.options.wall:
            # Samples of allocations cannot be added to sums of all of them, nor CPU time to waits.
            self._parts = []
        try:
            self._begin()
        except Error:
            self.options = before
            self._begin()
            raise

    def clear(self) -> None:
        """Forget what was recorded so far. All that comes behind this is recorded."""
        self._parts = []
        if self._recorder is None:
            return
        if self.is_exact:
            # Sums are forgotten with their recorder.
            recorder = self._living()
            self._recorder = None
            recorder.drop()
        else:
            self._living().ask("cleared", "clear")

    def snapshot(self, kept: Kept) -> str:
        """The path of a whole recording of all until now, in a folder of the caller's."""
        if self._recorder is None and self._parts:
            return self._whole(self._parts, kept)
        if self.options.memory:
            # The sums of allocations are in a recording from its end on.
            self._end()
            self._begin()
            if self.is_exact and not self._open:
                self.close(goes_on=True)
            return self._whole(self._parts, kept)
        path = kept.file("now.profundo")
        self._living().ask("written", "snapshot", path)
        return self._whole([*self._parts, path], kept)

    def split(self) -> int:
        """Begin another part of the recording. Its number is for :meth:`since`."""
        self._end()
        self._begin()
        return len(self._parts)

    def since(self, part: int, kept: Kept) -> str:
        """The path of a recording of all since a part began, in a folder of the caller's."""
        self._end()
        self._begin()
        return self._whole(self._parts[part:], kept)

    def stop(self, kept: Kept) -> str:
        """End, and return the path of the whole recording, in a folder of the caller's."""
        if self._recorder is not None:
            self._end()
        return self._whole(self._parts, kept)

    def drop(self) -> None:
        """End, and keep nothing."""
        if os.getpid() == self._owner and self._recorder is not None:
            if self._counter is not None:
                self._counter.recorder_drops()
            self._recorder, recorder = None, self._recorder
            recorder.drop()

    def forked(self) -> None:
        """Called in the child after a fork. It goes on under the same recorder."""
        if self._recorder is not None:
            self._recorder.close()

    # Counts.

    def count(self, wanted: Wanted) -> int:
        """Have the recorder prepare for counts. Returns what tells the agent what to count."""
        recorder = self._living()
        # It has to have taken what was counted before.
        recorder.settle()
        if recorder.counting is None or recorder.counting[0] != wanted:
            kind, functions = wanted
            fields = [field for pair in functions for field in pair]
            recorder.counting = wanted, int(recorder.ask("count", "count", kind, *fields)[0])
        return recorder.counting[1]

    def why(self, number: int) -> str:
        """The reason why nothing can be counted, in words."""
        return os.fsdecode(self._living().ask("why", "why", str(number))[0])

    def counted(self, forgotten: List[int], regions: List[Tuple[int, Optional[int]]]) -> None:
        """Have the recorder keep what was counted, for these regions and threads. It takes that
        while the program goes on."""
        numbers = ",".join(map(str, forgotten))
        words = [f"{number}" if at is None else f"{number}:{at}" for number, at in regions]
        self._living().tell("taken", "counted", PACKAGE, numbers, ",".join(words))

    def counts(self, path: str, region: Region) -> None:
        """Have the recorder write a recording of what a region has counted."""
        counted = region.counted
        assert counted is not None
        fields = [str(counted.number), path, counted.wanted[0], str(int(region.elapsed * 1e9))]
        self._living().ask("written", "counts", *fields, *region.notes_on_counts())

    def run(self, words: List[str]) -> Optional[Tuple[int, bytes, bytes]]:
        """See :func:`run`. It may be called from any thread."""
        recorder = self._recorder
        if recorder is None or os.getpid() != self._owner:
            return None
        return recorder.run(words)

    # Inner parts: one recorder after another.

    def _begin(self, for_one: bool = False) -> None:
        """Begin another recorder.

        Args:
            for_one: It is for a region that begins.
        """
        self._number += 1
        self._path = self._kept.file(f"part-{self._number}.profundo")
        # A region that begins says when its blocks count.
        counts = not self.is_exact or not for_one and self._open != 0
        self._is_closed = not counts
        try:
            self._recorder = _Recorder(self._path, self.options, self._is_paused, counts)
        except NoProcess as error:
            from .alone import Alone

            self._is_closed = False
            self._recorder = Alone(self._path, self.options, self._is_paused, error)
        if self._open is not None:
            self._recorder.note_open(self._open)
        if self._counter is not None:
            self._counter.recorder_began(self)

    def _end(self) -> None:
        recorder = self._living()
        if self._counter is not None:
            self._counter.recorder_ends(self)
        self._recorder = None
        recorder.end()
        if os.path.exists(self._path):
            self._parts.append(self._path)

    def _living(self) -> Union[_Recorder, Alone]:
        if os.getpid() != self._owner:
            if self.is_alone:
                raise Error("this process was forked, and its parent records itself alone")
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
            return path
        if self.is_alone:
            try:
                # It is read once, and not for each question.
                words = ["export", parts[0], "--to=profundo", "--no-config"]
                _command.run([*words, "--output=" + path])
                return path
            except NoProcess:
                # It can be saved as it is.
                pass
        try:
            os.link(parts[0], path)
        except OSError:
            import shutil

            shutil.copyfile(parts[0], path)
        return path


class Outer:
    """The recording that another ``profundo`` makes of this process, such as ``profundo run``.

    A process beside this one reads its file while it grows. That process is no child of this one,
    and not in the recording.
    """

    #: As :attr:`Session.clock`.
    clock: float
    #: As :attr:`Session.begins`.
    begins: Optional[float] = None

    def __init__(self) -> None:
        from . import spans

        self.clock = time.time() - time.perf_counter()
        self._owner = os.getpid()
        library = spans.library()
        if library is None:
            raise Error("what records this process is not known")
        if library.endswith(_COUNTING):
            raise Error("calls are counted until the end")
        self._reader = _Reader(library)

    def snapshot(self, kept: Kept) -> str:
        """The path of a whole recording of all until now, in a folder of the caller's."""
        from .. import _command

        self._reader.ask("written", "write")
        path = kept.file("live.profundo")
        words = ["export", self._reader.recording, "--to=profundo", "--no-config"]
        _command.run([*words, "--output=" + path])
        return path

    def run(self, words: List[str]) -> Optional[Tuple[int, bytes, bytes]]:
        """See :func:`run`. It may be called from any thread."""
        return None if os.getpid() != self._owner else self._reader.run(words)

    def drop(self) -> None:
        """Read no more."""
        if os.getpid() == self._owner:
            self._reader.close()

    def forked(self) -> None:
        """Called in the child after a fork."""
        self._reader.close()


#: The end of the name of the library that counts calls.
_COUNTING = "-calls.so"


def _contents(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


def _escaped(field: str) -> str:
    """A field without bytes that a line cannot have."""
    for byte in "%\t\n":
        field = field.replace(byte, f"%{ord(byte):02x}")
    return field


class _Beside:
    """A process of the command beside this one, and the talk with it."""

    #: As :attr:`~.alone.Alone.began`: the recording has it.
    began: Optional[float] = None

    def __init__(self, words: List[str], library: Optional[str] = None) -> None:
        # Not `socket`, which other tools replace by their own, and which takes longer to import.
        import _socket

        self._socket, theirs = _socket.socketpair()
        self._rest = b""
        self._variables = dict(os.environ)
        # Who waits for an answer has it.
        self._answers = RLock()
        # An answer that comes, and that is waited for before the next one.
        self._owed: Optional[str] = None
        self._process = 0
        self._socket.settimeout(_PATIENCE)
        try:
            words = ["beside", f"--pid={os.getpid()}", *words]
            self._process = agent.start(words, theirs.fileno(), library)
        except BaseException:
            self.close()
            raise
        finally:
            theirs.close()

    def say(self, word: str, *fields: str) -> None:
        """Send a line."""
        import _socket

        line = "\t".join([word, *map(_escaped, fields)]) + "\n"
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

    def ask(self, answer: str, word: str, *fields: str) -> Tuple[bytes, ...]:
        """Send a line, and return the fields of its answer."""
        with self._answers:
            self.settle()
            self.say(word, *fields)
            return self.expect(answer)

    def tell(self, answer: str, word: str, *fields: str) -> None:
        """Send a line, and wait for its answer when the next one is sent."""
        with self._answers:
            self.settle()
            self.say(word, *fields)
            self._owed = answer

    def settle(self) -> None:
        """Wait for the answer that is owed, if there is one."""
        with self._answers:
            owed, self._owed = self._owed, None
            if owed is not None:
                self.expect(owed)

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

    def run(self, words: List[str]) -> Optional[Tuple[int, bytes, bytes]]:
        """Have it run another command: see :func:`run`."""
        kept = Kept()
        files = kept.file("output"), kept.file("messages")
        try:
            changed = self._changed_variables()
            number = str(len(changed))
            code = self.ask("ran", "run", *files, os.getcwd(), number, *changed, *words)
        except (Error, OSError):
            # It has ended meanwhile, or there is no current folder.
            return None
        output, messages = (_contents(file) for file in files)
        return int(code[0]), output, messages

    def close(self) -> None:
        """Talk no more."""
        self._socket.close()

    def _changed_variables(self) -> List[str]:
        """The environment's changes since the process began, in the form of its protocol."""
        now = dict(os.environ)
        changed = [f"{name}={now[name]}" for name in now if now[name] != self._variables.get(name)]
        return changed + [name for name in self._variables if name not in now]

    def _reap(self) -> None:
        """Reap the process where this one has adopted it, as process 1 of a container does."""
        try:
            with open(f"/proc/{self._process}/stat", "rb") as file:
                parent = int(file.read().rpartition(b")")[2].split()[1])
            if parent == os.getpid():
                os.waitpid(self._process, 0)
        except (OSError, ValueError, IndexError):
            # It has ended, and another process has reaped it.
            pass

    def _line(self) -> bytes:
        """The next line with its end, or less at the end of all."""
        while b"\n" not in self._rest:
            try:
                more = self._socket.recv(4096)
            except ConnectionError:
                # It was killed while it had something to read.
                break
            except OSError as error:
                raise Error(f"the recorder does not answer: {error}") from None
            if not more:
                break
            self._rest += more
        line, end, self._rest = self._rest.partition(b"\n")
        return line + end


class _Reader(_Beside):
    """What reads a recording that another recorder makes of this process."""

    #: The file of the recording.
    recording: str

    def __init__(self, library: str) -> None:
        super().__init__(["--read"], library)
        try:
            (path,) = self.expect("recording")
        except BaseException:
            self.close()
            self._reap()
            raise
        self.recording = os.fsdecode(path)


class _Recorder(_Beside):
    """The recorder's process, and the agent here that it records by."""

    def __init__(self, path: str, options: Options, is_paused: bool, counts: bool) -> None:
        words = ["--output=" + path, "--temporary", *options.words()]
        if is_paused:
            words.append("--paused")
        # What it is prepared to count, and the flags for the agent.
        self.counting: Optional[Tuple[Wanted, int]] = None
        self._has_joined = self._has_memory = False
        self._regions: Optional[ctypes.Array[ctypes.c_uint32]] = None
        super().__init__(words)
        try:
            directory, preload = self.expect("come")
            joined = agent.join(directory, preload)
            self._has_joined = joined == 0
            self.say("entered", str(joined))
            self.expect("ready")
            self._regions = agent.regions()
            if options.memory:
                self._has_memory = True
                agent.follow_memory(counts)
        except BaseException:
            self.drop()
            raise

    def note_open(self, count: int) -> None:
        """See :meth:`Session.note_open`."""
        if self._regions is not None:
            self._regions[0] = count + 1

    @property
    def is_idle(self) -> bool:
        """Whether the recorder has paused because no region was open."""
        return self._regions is not None and self._regions[1] != 0

    def close(self) -> None:
        """Talk no more."""
        self._regions = None
        super().close()

    def end(self) -> None:
        """End the recording, and wait until its file is whole."""
        self._end("end")

    def drop(self) -> None:
        """End the recording, whose file goes."""
        try:
            self._end("drop")
        except Error:
            # What is not wanted need not be whole.
            pass

    def _end(self, word: str) -> None:
        with self._answers:
            try:
                self.ask("leave", word)
                self._part()
                self.ask("done", "left")
            finally:
                self.close()
                self._part()
                self._reap()

    def _part(self) -> None:
        self._regions = None
        if self._has_memory:
            self._has_memory = False
            agent.forget_memory()
        if self._has_joined:
            self._has_joined = False
            agent.part()
