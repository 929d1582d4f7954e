"""The options of the magics. Letters mean what they do in ``%lprun``, ``%prun`` and ``%timeit``."""

from __future__ import annotations

import re
from copy import copy
from typing import Any, Dict, Iterator, List, Mapping, Tuple

from IPython.core.error import UsageError

#: A word; quotes hold one with spaces together.
_WORD = re.compile(r"""\s*("(?:[^"\\]|\\.)*"|'[^']*'|[^\s"']+(?:"[^"]*"|'[^']*'|[^\s"'])*)""")

#: The options of ``%profundo``: whether each takes a value.
PROFUNDO: Dict[str, bool] = {
    "--memory": False,
    "--lines": False,
    "--wall": False,
    "--trace": False,
    "--rate": True,
    "--tree": False,
    "--height": True,
    "-f": True,
    "-m": True,
    "-s": True,
    "-l": True,
    "-o": True,
    "-T": True,
    "-D": True,
    "-r": False,
    "-q": False,
}

#: Those of ``%bench``.
BENCH: Dict[str, bool] = {
    "-n": True,
    "-r": True,
    "--min-time": True,
    "--check": False,
    "-c": False,
    "-o": False,
    "-q": False,
}

#: Those of ``%memit``. The time between two readings means nothing here: the kernel keeps the peak.
MEMIT: Dict[str, bool] = {
    "-r": True,
    "-t": True,
    "-i": True,
    "-c": False,
    "-o": False,
    "-q": False,
}

#: Those of ``%mprun``.
MPRUN: Dict[str, bool] = {"-f": True, "-T": True, "-r": False, "-c": False}

Given = Dict[str, List[str]]


def split(text: str, known: Mapping[str, bool]) -> Tuple[Given, str]:
    """The options at the beginning of a text, and the statement behind them.

    Flags have an empty value. ``--`` ends the options.

    Raises:
        UsageError: There is no such option, or it has no value.
    """
    given: Given = {}
    at = 0
    while True:
        word = _WORD.match(text, at)
        if word is None or not word.group(1).startswith("-"):
            break
        name, value = word.group(1), None
        if name == "--":
            at = word.end()
            break
        if name.startswith("--") and "=" in name:
            name, _, value = name.partition("=")
        elif not name.startswith("--") and len(name) > 2:
            # `-r5`, as in `%timeit`.
            if known.get(name[:2]) is None:
                break
            name, value = name[:2], name[2:]
        if name not in known:
            if not re.match(r"--?[a-zA-Z]", name):
                break
            listed = " ".join(sorted(known, key=lambda one: (one.strip("-").lower(), one)))
            raise UsageError(f"there is no option {name}; there are {listed}")
        at = word.end()
        if known[name] and value is None:
            following = _WORD.match(text, at)
            if following is None:
                raise UsageError(f"{name} needs a value")
            value, at = following.group(1), following.end()
        elif not known[name] and value is not None and name not in ("--memory", "--trace"):
            if name.startswith("--"):
                raise UsageError(f"{name} takes no value")
            # Flags may stand together, as `-qr`.
            flags = ["-" + letter for letter in value]
            if any(known.get(flag) is not False for flag in flags):
                raise UsageError(f"{name} takes no value")
            for flag in flags:
                given.setdefault(flag, []).append("")
            value = None
        given.setdefault(name, []).append(_unquoted(value or ""))
    return given, text[at:].strip()


def _unquoted(word: str) -> str:
    if len(word) > 1 and word[0] == word[-1] and word[0] in "\"'":
        return word[1:-1]
    return word


def statement_of(text: str) -> str:
    """The statement of ``%profundo``; empty where the options are wrong, which is said later."""
    return rest_of(text, PROFUNDO)


def rest_of(text: str, known: Mapping[str, bool]) -> str:
    """What stands behind the options; nothing where they are wrong."""
    try:
        return split(text, known)[1]
    except UsageError:
        return ""


def number(given: Given, name: str, kind: Any = int, default: Any = 0) -> Any:
    """The value of an option as a number above 0."""
    if name not in given:
        return default
    text = given[name][-1]
    try:
        value = kind(text)
    except ValueError:
        value = 0
    if value <= 0:
        raise UsageError(f"{name} is a number above 0, not {text!r}")
    return value


class Options:
    """What ``%profundo`` is asked for.

    Raises:
        UsageError: An option or its value is wrong.
    """

    def __init__(self, text: str) -> None:
        given, self.statement = split(text, PROFUNDO)
        #: What is recorded: the options of :func:`profundo.profile`.
        self.recorded: Dict[str, Any] = {}
        if "--memory" in given:
            value = given["--memory"][-1]
            if value not in ("", "exact"):
                raise UsageError(f"--memory is sampled, or =exact, not {value!r}")
            self.recorded["memory"] = value or True
        if "--wall" in given:
            self.recorded["wall"] = True
        if "--rate" in given:
            self.recorded["rate"] = number(given, "--rate")
        if "--trace" in given or "--lines" in given:
            value = given.get("--trace", [""])[-1]
            if value not in ("", "calls", "lines", "exceptions"):
                raise UsageError(f"--trace counts calls, or =lines or =exceptions, not {value!r}")
            if "--lines" in given and value not in ("", "lines"):
                raise UsageError(f"--lines counts lines, and --trace={value} something else")
            self.recorded["trace"] = "lines" if "--lines" in given else value or "calls"
            for name in ("--memory", "--wall", "--rate"):
                if name in given:
                    raise UsageError(f"what counts records nothing else: --trace without {name}")
        #: Functions and modules whose lines are shown.
        self.functions = given.get("-f", [])
        self.modules = given.get("-m", [])
        #: The order of functions, and which of them: as ``%prun`` has it.
        self.sort = given.get("-s", [])
        self.limits = given.get("-l", [])
        #: Files: the recording or another format, and the text.
        self.output = given.get("-o", [None])[-1] or given.get("-D", [None])[-1]
        self.text_file = given.get("-T", [None])[-1]
        self.returns = "-r" in given
        self.is_quiet = "-q" in given
        self.tree = "--tree" in given
        #: The most height of the page in a notebook, in pixels.
        self.height = number(given, "--height", int, None)

    def each(self) -> Iterator[Options]:
        """These options with one function or module each."""
        for name in self.functions + self.modules:
            one = copy(self)
            one.functions = [name] if name in self.functions else []
            one.modules = [] if one.functions else [name]
            yield one

    @property
    def has_memory(self) -> bool:
        """Whether memory is recorded."""
        return "memory" in self.recorded

    @property
    def traced(self) -> str:
        """What is counted: ``calls``, ``lines`` or ``exceptions``; empty for nothing."""
        return str(self.recorded.get("trace", ""))
