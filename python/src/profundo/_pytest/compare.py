"""What has changed since an earlier run: only tests that differ beyond chance.

The command's ``diff`` compares the spans of both recordings. Every test is a span with its node id
as the name, so each test has a row.
"""

from __future__ import annotations

from typing import Any, List, Optional, Set

import profundo

from .._diff import Change, DiffRow
from .._profile import Profile

#: A limit beyond all rows.
_ALL = 1000000


class Comparison:
    """What has changed."""

    def __init__(self, before: str, verdict: str) -> None:
        self.before = before
        self.verdict = verdict
        self.rows: List[DiffRow] = []
        #: Those rows that have grown by more than is allowed.
        self.failures: List[DiffRow] = []
        #: Whether all tests together have: where both runs have the same tests.
        self.whole_failed = False


def compared(before: str, after: Profile, results: Any, fail_above: Optional[float]) -> Comparison:
    """Compare an earlier recording with that of this run.

    Raises:
        Error: They measure different things, or one of them has no tests.
    """
    difference = profundo.diff(before, after.path, by="span", per="run", limit=_ALL)
    found = Comparison(before, difference.verdict)
    names = {test.name for test in results.tests.values()}
    earlier = _tests_of(Profile(before))
    for row in difference.rows:
        if row.name not in names | earlier or not row.total.changed:
            continue
        found.rows.append(row)
        if fail_above is not None and row.what != "new" and _has_grown(row.total, fail_above):
            found.failures.append(row)
    found.rows.sort(key=lambda row: -abs(row.total.change))
    if fail_above is not None and _tests_of(after) == earlier:
        found.whole_failed = _has_grown(difference.whole, fail_above)
    return found


def _has_grown(total: Change, percent: float) -> bool:
    """Whether it takes more, beyond chance, by more than so much of what it took."""
    is_beyond_chance = total.changed and total.change_low > 0
    return is_beyond_chance and total.change * 100 > percent * total.before


def _tests_of(profile: Profile) -> Set[str]:
    """The node ids among the names of spans."""
    rows = profile.json("spans", limit=_ALL).get("spans", [])
    return {row["name"] for row in rows if "::" in row["name"]}
