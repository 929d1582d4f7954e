"""TOML as far as settings need it, where Python has no reader of its own (before 3.11).

It reads tables, dotted keys, strings in one line, integers, booleans, and lists of these in one
line. All else is left out: its value is `None`, and what belongs to it is passed over. It reads no
line wrong that it reads: texts and lists over several lines are skipped as a whole.
"""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, List, Optional, Tuple

_KEY = r"""(?:[A-Za-z0-9_-]+|"[^"\\]*"|'[^']*')"""
_KEYS = re.compile(rf"\s*({_KEY}(?:\s*\.\s*{_KEY})*)\s*")
_PART = re.compile(_KEY)
_COMMENT = re.compile(r"\s*(#.*)?$")
_BASIC = re.compile(r'"((?:[^"\\]|\\.)*)"')
_LITERAL = re.compile(r"'([^']*)'")
_INTEGER = re.compile(r"[+-]?[0-9](?:_?[0-9])*(?![0-9A-Za-z_.:+-])")
_ESCAPES = {"b": "\b", "t": "\t", "n": "\n", "f": "\f", "r": "\r", '"': '"', "\\": "\\"}
_ESCAPE = re.compile(r"\\(u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8}|.)")


def parsed(text: str) -> Dict[str, Any]:
    """The document as dictionaries; an empty one where it is not TOML at all."""
    try:
        import tomllib  # type: ignore[import-not-found,unused-ignore]
    except ImportError:
        return _parsed(text)
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError):
        return {}


def _parsed(text: str) -> Dict[str, Any]:
    root: Dict[str, Any] = {}
    table: Optional[Dict[str, Any]] = root
    lines = text.split("\n")
    index = 0
    while index < len(lines):
        line = lines[index].strip()
        index += 1
        if line.startswith("["):
            table = _header(root, line)
            continue
        found = _KEYS.match(line)
        if line.startswith("#") or found is None or line[found.end() : found.end() + 1] != "=":
            continue
        rest = line[found.end() + 1 :].strip()
        value, end = _value(rest)
        if end is None or not _COMMENT.match(rest[end:]):
            value = None
            index = _behind(lines, index, rest)
        keys = _names(found.group(1))
        inner = None if table is None else _inner(table, keys[:-1])
        if inner is not None and value is not None:
            inner[keys[-1]] = value
    return root


def _header(root: Dict[str, Any], line: str) -> Optional[Dict[str, Any]]:
    """The table that a line begins; ``None`` for a list of tables, whose keys are passed over."""
    found = _KEYS.match(line[1:])
    if found is None or not line[1 + found.end() :].startswith("]"):
        return None
    return _inner(root, _names(found.group(1)))


def _names(keys: str) -> List[str]:
    return [part.strip("\"'") for part in _PART.findall(keys)]


def _inner(table: Dict[str, Any], names: List[str]) -> Optional[Dict[str, Any]]:
    for name in names:
        table = table.setdefault(name, {})
        if not isinstance(table, dict):
            return None
    return table


def _value(text: str) -> Tuple[Any, Optional[int]]:
    """The value at the beginning of a text, and where it ends; no end for what is not read."""
    if text.startswith(('"""', "'''")):
        return None, None
    found = _BASIC.match(text)
    if found is not None:
        return _ESCAPE.sub(_unescaped, found.group(1)), found.end()
    found = _LITERAL.match(text)
    if found is not None:
        return found.group(1), found.end()
    for word, value in (("true", True), ("false", False)):
        if text.startswith(word):
            return value, len(word)
    found = _INTEGER.match(text)
    if found is not None:
        return int(found.group().replace("_", "")), found.end()
    return _list(text) if text.startswith("[") else (None, None)


def _list(text: str) -> Tuple[Any, Optional[int]]:
    values: List[Any] = []
    at = 1
    while True:
        at += len(text[at:]) - len(text[at:].lstrip())
        if text[at : at + 1] == "]":
            return values, at + 1
        value, end = _value(text[at:])
        if end is None:
            return None, None
        values.append(value)
        at += end
        at += len(text[at:]) - len(text[at:].lstrip())
        if text[at : at + 1] == ",":
            at += 1
        elif text[at : at + 1] != "]":
            return None, None


def _unescaped(found: re.Match[str]) -> str:
    escape = found.group(1)
    if escape[0] in "uU" and len(escape) > 1:
        return chr(int(escape[1:], 16))
    return _ESCAPES.get(escape, escape)


def _behind(lines: List[str], index: int, rest: str) -> int:
    """The line behind a value that was not read: a text, or a list or table in brackets."""
    for quotes in ('"""', "'''"):
        if rest.startswith(quotes):
            rest = rest[3:]
            while quotes not in rest and index < len(lines):
                rest = lines[index]
                index += 1
            return index
    depth = _depth(rest)
    while depth > 0 and index < len(lines):
        depth += _depth(lines[index])
        index += 1
    return index


def _depth(line: str) -> int:
    """How many brackets a line opens and does not close. Those in texts and comments are none."""
    line = _LITERAL.sub("", _BASIC.sub("", line)).partition("#")[0]
    return sum(map(line.count, "[{")) - sum(map(line.count, "]}"))
