"""Defaults from the files that the command reads, too (``docs/config.md``).

A region has the settings of ``profundo run``: those before all tables, and those of the table
``run``. The table ``region`` is for regions alone, and decides. What concerns only the command is
passed over, because the command reports what is wrong.
"""

from __future__ import annotations

import os
import stat

from .options import NAMES, Options

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, Iterator, Optional, Tuple

#: The command whose settings a region has, and the table of regions alone.
_TABLES = ("run", "region")
#: The size from which on a file is not read as settings.
_LONGEST = 1 << 20

#: What was found for a current folder.
_found: Dict[str, Options] = {}


def defaults() -> Options:
    """The options that are not given. Files are read once for each current folder."""
    try:
        here = os.getcwd()
    except OSError:
        return Options()
    if here not in _found:
        _found[here] = _read(here)
    return _found[here]


def _read(here: str) -> Options:
    options: Dict[str, Any] = {}
    if os.environ.get("PROFUNDO_NO_CONFIG", "0") in ("", "0"):
        for path, tables in _files(here):
            options.update(_settings(path, tables))
    trace = options.pop("trace", False)
    try:
        return Options(**options).over({"trace": trace})
    except ValueError:
        # The command names the file and the line.
        return Options()


def _files(here: str) -> Iterator[Tuple[str, Tuple[str, ...]]]:
    """The files with our tables in them, the weakest first."""
    home = os.path.expanduser("~")
    users = os.environ.get("XDG_CONFIG_HOME") or os.path.join(home, ".config")
    yield os.path.join(users, "profundo", "config.toml"), ()
    for name, tables in (
        ("pyproject.toml", ("tool", "profundo")),
        (os.path.join(".profundo", "config.toml"), ()),
    ):
        folder = here
        while True:
            path = os.path.join(folder, name)
            if _has_ours(path, tables):
                yield path, tables
                break
            if folder == os.path.dirname(folder):
                break
            folder = os.path.dirname(folder)


def _has_ours(path: str, tables: Tuple[str, ...]) -> bool:
    """Whether there is such a file with settings of ours, which nobody else could have written."""
    text = _text(path)
    return text is not None and (not tables or _table(text, tables) is not None)


def _text(path: str) -> Optional[str]:
    try:
        found = os.stat(path)
        folder = os.stat(os.path.dirname(path))
        if not stat.S_ISREG(found.st_mode) or found.st_size >= _LONGEST:
            return None
        if any(one.st_uid not in (os.geteuid(), 0) for one in (found, folder)):
            return None
        is_sticky = folder.st_mode & stat.S_ISVTX
        if found.st_mode & stat.S_IWOTH or folder.st_mode & stat.S_IWOTH and not is_sticky:
            return None
        with open(path, encoding="utf-8") as file:
            text = file.read()
    except (OSError, ValueError):
        return None
    # Most files of other tools have no word of ours.
    return text if "profundo" in text or path.endswith("config.toml") else None


def _table(text: str, tables: Tuple[str, ...]) -> Optional[Dict[str, Any]]:
    from . import toml

    table: Any = toml.parsed(text)
    for name in tables:
        table = table.get(name) if isinstance(table, dict) else None
    return table if isinstance(table, dict) else None


def _settings(path: str, tables: Tuple[str, ...]) -> Dict[str, Any]:
    """The options that a file sets: those of the command's table decide."""
    text = _text(path)
    table = None if text is None else _table(text, tables)
    if table is None:
        return {}
    options = {}
    for place in (table, *(table.get(name) for name in _TABLES)):
        for name, value in place.items() if isinstance(place, dict) else ():
            if name == "no-children" and isinstance(value, bool):
                options["children"] = not value
            elif name in NAMES and not isinstance(value, dict):
                options[name] = value
    return options
