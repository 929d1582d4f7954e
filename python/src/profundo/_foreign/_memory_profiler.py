"""What programs use of memory_profiler: ``profile`` and ``memory_usage``."""

from __future__ import annotations

import os
import time
from functools import wraps

from .._live import memory
from ._shared import is_recorded_or_off

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__version__ = "0.61.0"


def profile(func: Any = None, stream: Any = None, **_: Any) -> Any:
    """Decorate a function: each call prints the memory at its lines.

    Where the program is recorded as a whole, it is the function itself.
    """
    if func is None:
        return lambda function: profile(function, stream)
    if is_recorded_or_off():
        return func

    @wraps(func)
    def called(*args: Any, **kwargs: Any) -> Any:
        values = []
        memory.mprun(wraps(func)(lambda: values.append(func(*args, **kwargs))), file=stream)
        return values[0]

    return called


def memory_usage(
    proc: Any = -1,
    interval: float = 0.1,
    timeout: Any = None,
    max_usage: bool = False,
    retval: bool = False,
    **_: Any,
) -> Any:
    """The resident memory of a process, or of this one during a call, in MiB."""
    if isinstance(proc, (tuple, list)):
        arguments = proc[1] if len(proc) > 1 else ()
        named = proc[2] if len(proc) > 2 else {}
        measured = memory.memit(proc[0], *arguments, **named)
        sizes: Any = [measured.before / 2**20, measured.peak / 2**20, measured.after / 2**20]
        if max_usage:
            sizes = measured.peak / 2**20
        return (sizes, measured.value) if retval else sizes
    pid = os.getpid() if proc in (-1, None) else int(getattr(proc, "pid", proc))
    sizes = []
    end = time.monotonic() + (timeout or 0)
    while True:
        sizes.append(memory.status("VmRSS", pid) / 2**20)
        if time.monotonic() >= end:
            break
        time.sleep(interval)
    return max(sizes) if max_usage else sizes
