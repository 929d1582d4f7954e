"""What in a kernel's process is not the cell: the frames below it, and the kernel's own threads.

Both are named by expressions for the options ``--hide`` and ``--ignore``.
"""

from __future__ import annotations

import os
import re
import sys
import threading

#: Functions of the interpreter, and of the program that began it, below a cell.
_RUNNERS = (
    r"^<frozen runpy>$",
    r"/runpy\.py$",
    r"/ipykernel_launcher\.py$",
    r"^(exec|eval) \(builtin_(exec|eval)\)$",
    r"^_contextvars\.Context\.run",
    r"^task_step(_impl)?$",
    r"^_asyncio\.Task",
)

#: What only threads of the kernel have on their stacks.
_THREADS = (
    r"/ipykernel/(heartbeat|parentpoller|control)\.py$",
    r"^IOPubThread\._(thread_main|event_pipe)",
    r"^OutStream\._watch_pipe_fd$",
    r"/zmq/utils/garbage\.py$",
    r"^HistorySav(er|ingThread)\.run$",
)


def frames(with_threads: bool = False) -> str:
    """An expression for the frames of what runs cells: by their files, or by their names.

    Args:
        with_threads: Also those at the root of each thread: where calls are counted, they have a
            row although nothing is called in the thread.
    """
    found = [r"^(Thread\.)?_bootstrap(_inner)?$"] if with_threads else []
    for name in ("IPython", "ipykernel", "tornado", "traitlets", "zmq", "profundo", "asyncio"):
        file = getattr(sys.modules.get(name), "__file__", None)
        if file:
            found.append("^" + re.escape(os.path.dirname(file)) + "/")
    return "|".join(found + list(_RUNNERS))


def threads(with_waits: bool) -> str:
    """An expression for the threads of IPython and its kernel, by what runs in no other.

    Args:
        with_waits: Whether waits are recorded: the threads of ZeroMQ do nothing but wait.
    """
    found = list(_THREADS) + ([r"^libzmq"] if with_waits else [])
    if threading.current_thread() is threading.main_thread():
        # A cell of a subshell runs in such a thread.
        found.append(r"/ipykernel/thread\.py$")
    return "|".join(found)
