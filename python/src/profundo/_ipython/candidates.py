"""The candidates of ``%%bench``: pieces of a cell, each compiled into a loop as timeit does it."""

from __future__ import annotations

import ast
import contextlib
import io
import re
from itertools import repeat
from typing import Any, Dict, Iterator, List, Optional

from .timing import Timed

#: A line that separates candidates. What follows the dashes is the name of the next one.
_SEPARATOR = re.compile(r"^-{3,}(?:[ \t]+(.*?))?[ \t]*$")

#: A longer name is cut.
_NAME = 40

#: The names of the loop, which no statement uses.
_LOOP = """\
def _timed(_profundo_loops, _profundo_timer):
    pass
    _profundo_began = _profundo_timer()
    for _profundo_loop in _profundo_loops:
        pass
    return _profundo_timer() - _profundo_began
"""


class Candidate:
    """A piece of the cell.

    Args:
        text: Its source.
        line: The line of the cell that it begins at, from 1.
        name: Its name; by default its text.
    """

    def __init__(self, text: str, line: int, name: Optional[str] = None) -> None:
        self.text = text.strip("\n").rstrip()
        # Empty lines in front are gone.
        self.line = line + len(text) - len(text.lstrip("\n"))
        self.name = name or _name_of(self.text)


def split(body: str, first_line: int = 1) -> List[Candidate]:
    """The candidates of a cell's body, whose first line has this number."""
    found: List[Candidate] = []
    lines: List[str] = []
    begins, name = first_line, None  # type: int, Optional[str]
    for number, line in enumerate(body.split("\n") + ["---"], first_line):
        separator = _SEPARATOR.match(line)
        if separator is None:
            lines.append(line)
            continue
        text = "\n".join(lines)
        if text.strip():
            found.append(Candidate(text, begins, name))
        lines, begins, name = [], number + 1, separator.group(1)
    _tell_apart(found)
    return found


def _name_of(text: str) -> str:
    lines = [line.strip() for line in text.split("\n")]
    code = [line for line in lines if line and not line.startswith("#")] or lines
    name = code[0] if len(code) == 1 else code[0] + " …"
    return name if len(name) <= _NAME else name[: _NAME - 1] + "…"


def _tell_apart(candidates: List[Candidate]) -> None:
    names = [candidate.name for candidate in candidates]
    for number, candidate in enumerate(candidates, 1):
        if names.count(candidate.name) > 1:
            candidate.name = f"{number}: {candidate.name}"


def parse(text: str, line: int, file: str) -> List[ast.stmt]:
    """The statements of a text that begins at a line of a file."""
    # As many lines in front, so that a message names the right one.
    tree = ast.parse("\n" * (line - 1) + text, file)
    return tree.body


def compiled(
    statements: List[ast.stmt],
    setup: List[ast.stmt],
    file: str,
    names: Dict[str, Any],
    timer: Any,
    awaits: bool = False,
) -> Timed:
    """A function that runs the statements so many times, and returns their time.

    Args:
        awaits: Whether statements may await, and the function's result is to be awaited.
    """
    loop = ast.parse("async " + _LOOP if awaits else _LOOP, file)
    inner = loop.body[0]
    assert isinstance(inner, (ast.FunctionDef, ast.AsyncFunctionDef))
    inner.body[:1] = setup or inner.body[:1]
    for node in inner.body:
        if isinstance(node, ast.For):
            node.body = statements
    scope: Dict[str, Any] = {}
    # Names of the notebook are globals; what the statements assign is local, as in timeit.
    exec(compile(ast.fix_missing_locations(loop), file, "exec"), names, scope)
    timed = scope["_timed"]

    def run(loops: int) -> Any:
        __tracebackhide__ = True
        return timed(repeat(None, loops), timer)

    return run


class Nowhere(io.TextIOBase):
    """Where the output of timed statements goes."""

    def write(self, text: str) -> int:
        return len(text)


@contextlib.contextmanager
def without_output() -> Iterator[None]:
    """Throws away what is printed."""
    with contextlib.redirect_stdout(Nowhere()):
        yield


def answer(
    statements: List[ast.stmt],
    setup: List[ast.stmt],
    file: str,
    names: Dict[str, Any],
    awaits: bool = False,
) -> Any:
    """A function that runs a candidate once, and returns the value of its last expression.

    Args:
        awaits: Whether statements may await, and the function's result is to be awaited.
    """
    body = list(setup) + list(statements)
    last = body[-1] if body else None
    if isinstance(last, ast.Expr):
        body[-1] = ast.copy_location(ast.Return(last.value), last)
    function = ast.parse("async " * awaits + "def _answer():\n    pass", file)
    inner = function.body[0]
    assert isinstance(inner, (ast.FunctionDef, ast.AsyncFunctionDef))
    inner.body = body or inner.body
    scope: Dict[str, Any] = {}
    exec(compile(ast.fix_missing_locations(function), file, "exec"), names, scope)
    return scope["_answer"]


def are_same(one: Any, other: Any) -> Optional[bool]:
    """Whether two values are equal, arrays and tables as wholes; ``None`` if they do not say."""
    if one is other:
        return True
    try:
        equals = getattr(one, "equals", None)
        if callable(equals) and type(one) is type(other):
            return bool(equals(other))
        # Arrays of different shapes do not even compare.
        if getattr(one, "shape", None) != getattr(other, "shape", None):
            return False
        result = one == other
        # An array compares its items.
        return bool(result.all()) if hasattr(result, "all") else bool(result)
    except Exception:
        return None
