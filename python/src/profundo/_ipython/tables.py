"""Reports of the command as a cell shows them: the functions in the order that ``%prun`` names."""

from __future__ import annotations

import re
from typing import Any, Dict

from .._error import Error
from .options import Options

#: The columns of ``%prun -s``, for tables that were sampled.
_SORTS = {
    "time": "overhead",
    "tottime": "overhead",
    "cumulative": "count",
    "cumtime": "count",
    "line": "filefuncline",
    "file": "filefuncline",
    "filename": "filefuncline",
    "module": "filefuncline",
    "name": "filefuncline",
    "nfl": "filefuncline",
    "stdname": "filefuncline",
}


def functions(options: Options, profile: Any, plain: Dict[str, Any]) -> str:
    """The table of functions, with ``-s`` and ``-l`` of ``%prun``."""
    asked = dict(plain)
    for key in options.sort:
        if key not in _SORTS:
            known = ", ".join(sorted(_SORTS))
            raise Error(f"-s: samples have no {key!r}; there are {known}, and --trace counts calls")
        asked.setdefault("sort", _SORTS[key])
    patterns = []
    for limit in options.limits:
        if limit.isdigit():
            asked["limit"] = int(limit)
        elif re.match(r"[01]?\.\d+$", limit):
            asked["limit"] = max(1, round(float(limit) * len(profile.functions)))
        else:
            patterns.append(limit)
    if patterns:
        asked.setdefault("limit", 1000000)
    elif not options.sort:
        asked.setdefault("limit", 10)
    head, *rows = without_filter(profile.report("functions", **asked)).split("\n")
    try:
        rows = [row for row in rows if all(re.search(pattern, row) for pattern in patterns)]
    except re.error as error:
        raise Error(f"-l: {error}") from None
    return "\n".join([head] + rows)


def without_filter(report: str) -> str:
    """A report without the line on what was selected, which is the cell."""
    lines = report.rstrip("\n").split("\n")
    others = ("Only: ", "Note: ", "Stacks: ")
    return "\n".join(line for line in lines if not line.startswith(others)).rstrip()
