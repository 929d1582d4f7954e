"""Memory of a call: its peak and its increment, by line if asked; and what is in the heap."""

from __future__ import annotations

import os

from .._error import Error

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Optional, TextIO

    from .._profile import Path
    from .region import Region

_MIB = 1 << 20


class Memory:
    """What a call took of the machine's memory, in bytes."""

    def __init__(self, before: int, peak: int, after: int, value: Any, is_exact: bool) -> None:
        #: The resident memory of the process before the call, and after it.
        self.before = before
        self.after = after
        #: The most of it during the call.
        self.peak = peak
        #: What the call returned.
        self.value = value
        #: Whether the kernel measured the peak. Otherwise it is the most of what was looked at.
        self.is_exact = is_exact

    @property
    def increment(self) -> int:
        """How far the peak is above what the process had before."""
        return self.peak - self.before

    def __str__(self) -> str:
        how = "" if self.is_exact else ", looked at every 10 ms"
        peak, increment = self.peak / _MIB, self.increment / _MIB
        return f"peak memory: {peak:.2f} MiB, increment: {increment:.2f} MiB{how}"

    def __repr__(self) -> str:
        return f"<Memory: {self}>"


def memit(function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Memory:
    """Call a function, and measure the peak of the process's memory meanwhile.

        print(profundo.memit(load, "big.csv"))
        # peak memory: 812.40 MiB, increment: 644.25 MiB

    The kernel keeps the peak of resident memory, and it is set back before the call. So no peak is
    missed, however short. What other threads take meanwhile is in it, too.
    """
    is_exact = _set_back()
    before = status("VmRSS")
    if is_exact:
        value = function(*args, **kwargs)
        peak = status("VmHWM")
    else:
        with _Looking() as looking:
            value = function(*args, **kwargs)
        peak = looking.most
    after = status("VmRSS")
    return Memory(before, max(peak, before, after), after, value, is_exact)


def status(name: str, pid: int = 0) -> int:
    """A size of a process's ``/proc`` file, this one's by default, in bytes."""
    with open(f"/proc/{pid or 'self'}/status") as file:
        for line in file:
            if line.startswith(name + ":"):
                return int(line.split()[1]) * 1024
    raise Error(f"/proc/{pid or 'self'}/status has no {name}")


def _set_back() -> bool:
    """Have the kernel begin with the peak anew. Returns whether it does."""
    try:
        with open("/proc/self/clear_refs", "w") as file:
            file.write("5")
    except OSError:
        return False
    return True


class _Looking:
    """A thread that looks at the memory every 10 ms, where the kernel keeps no new peak."""

    def __init__(self) -> None:
        import threading

        self.most = 0
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)

    def __enter__(self) -> _Looking:
        self._thread.start()
        return self

    def __exit__(self, *_: Any) -> None:
        self._end.set()
        self._thread.join()

    def _look(self) -> None:
        while True:
            self.most = max(self.most, status("VmRSS"))
            if self._end.wait(0.01):
                break


def mprun(
    function: Callable[..., Any], /, *args: Any, file: Optional[TextIO] = None, **kwargs: Any
) -> Region:
    """Call a function, and print the memory at each of its lines, as memory_profiler does.

    Returns the profile: ``p.report("allocs")`` has the lines that allocate, and
    ``p.select(of="live")`` those that hold memory.

    Args:
        file: Where the table is printed; ``sys.stdout`` by default.
    """
    from .profile import profile

    region = profile(getattr(function, "__qualname__", None), memory=True)
    with region:
        function(*args, **kwargs)
    region.print(file, "memory-lines")
    return region


def heap_snapshot(path: Path, **options: Any) -> str:
    """Write the objects of this process, and who holds whom, as a heap snapshot.

    ``profundo heap FILE`` says what fills it, and the developer tools of browsers open it. The
    process goes on when a copy of it is made (a fork); the file is whole on return.

    Args:
        path: The file, whose name ends in ``.heapsnapshot``.
        options: Those of ``profundo snapshot``: ``no_redact=True`` writes what texts hold, too.

    Returns:
        The path.

    Raises:
        Error: The snapshot cannot be made.
    """
    from .. import _command

    path = os.path.abspath(os.fspath(path))
    words = ["snapshot", str(os.getpid())] + _command.spelled(options)
    _command.run(words + ["--output=" + path])
    return path
