"""The command, run for its answer.

Options are keyword arguments with the command's own names: ``only_mine=True`` is ``--only-mine``,
``focus=["a", "b"]`` is ``--focus a --focus b``, and ``from_=0.5`` is ``--from 0.5``, because `from`
is a word of Python's.
"""

from __future__ import annotations

import errno
import os
import sys

from . import _binary
from ._error import Error, NoProcess

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

#: The exit code where nothing passes the filter.
NOTHING_PASSES = 4

#: The system's errors where no process may be started: limits (``RLIMIT_NPROC``, ``pids.max``), and
#: filters of system calls.
REFUSALS = (errno.EAGAIN, errno.EPERM, errno.ENOSYS)

#: Prefixes of sentences on stderr.
_PREFIX = "profundo: "


def spelled(options: Mapping[str, Any]) -> List[str]:
    """The words of options. Those that are ``None`` or ``False`` are left out."""
    words = []
    for name, value in options.items():
        option = "--" + name.rstrip("_").replace("_", "-")
        for one in value if isinstance(value, (list, tuple)) else [value]:
            if one is True:
                words.append(option)
            elif one is not None and one is not False:
                # With `=`, so that a value may begin with a dash.
                words.append(f"{option}={os.fspath(one) if _is_path(one) else one}")
    return words


def run(words: Sequence[object], may_end_with: Sequence[int] = (0,)) -> bytes:
    """Run the command and return its output as bytes.

    Raises:
        Error: It ended with another exit code than those, or could not be started.
    """
    return ended(words, may_end_with)[0]


def ended(words: Sequence[object], may_end_with: Sequence[int] = (0,)) -> Tuple[bytes, int]:
    """Like :func:`run`, with the exit code beside the output."""
    line = [str(word) for word in words]
    code, output, messages = _beside(line) or _as_child(line)
    if code not in may_end_with:
        said = messages.decode("utf-8", "replace")
        raise Error(sentence(said, code), code, ("profundo", *line))
    return output, code


def _beside(line: List[str]) -> Optional[Tuple[int, bytes, bytes]]:
    """Have the recorder of this process run the command, if there is one.

    What it runs is no child of this process, and not in the recording.
    """
    session = sys.modules.get(f"{__package__}._live.session")
    return None if session is None else session.run(line)


def _as_child(line: List[str]) -> Tuple[int, bytes, bytes]:
    import subprocess

    binary = _binary.find()
    try:
        done = subprocess.run(
            [binary] + line,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
    except OSError as error:
        if error.errno in REFUSALS:
            raise NoProcess(
                f"no process may be started here ({error.strerror}), and the command answers this: "
                'save("part.profundo") keeps a region, and `profundo report part.profundo` reads '
                "it elsewhere",
                None,
                tuple(line),
            ) from None
        raise Error(f"cannot run {binary}: {error.strerror}", None, tuple(line)) from None
    return done.returncode, done.stdout, done.stderr


def text(words: Sequence[object], may_end_with: Sequence[int] = (0, NOTHING_PASSES)) -> str:
    """The command's output as text."""
    return run(words, may_end_with).decode("utf-8", "replace")


def document(
    words: Sequence[object], may_end_with: Sequence[int] = (0, NOTHING_PASSES)
) -> Dict[str, Any]:
    """The command's output as a JSON document."""
    import json

    # Behind the verb: a `--` may follow.
    document: Dict[str, Any] = json.loads(text([words[0], "--json", *words[1:]], may_end_with))
    return document


def sentence(said: str, exit_code: int) -> str:
    """What the command said, without its name and the advice that follows."""
    said = said.split("\n\nFor more information", 1)[0].strip()
    lines = [
        line[len(_PREFIX) :] if line.startswith(_PREFIX) else line for line in said.split("\n")
    ]
    said = "\n".join(lines).strip()
    if said:
        return said
    if exit_code < 0:
        return f"profundo was killed by signal {-exit_code}"
    return f"profundo ended with exit code {exit_code}"


def _is_path(value: object) -> bool:
    return hasattr(value, "__fspath__")
