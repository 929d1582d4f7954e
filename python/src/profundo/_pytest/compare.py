"""What has changed since an earlier run: only tests that differ beyond chance.

The command's ``diff`` compares the spans of both recordings. Every test is a span with its node id
as the name, so each test has a row.
"""

from __future__ import annotations

from typing import Any, List, Optional

import profundo

from .._diff import Change, DiffRow
from .._profile import Profile

#: What the command calls the rows of samples outside of all spans.
_NO_TESTS = ("[outside of spans]", "[other spans]")


class Comparison:
    """What has changed."""

    def __init__(self, before: str, verdict: str) -> None:
        self.before = before
        self.verdict = verdict
        self.rows: List[DiffRow] = []
        #: Those rows that have grown by more than is allowed.
        self.failures: List[DiffRow] = []


def compared(before: str, after: Profile, results: Any, fail_above: Optional[float]) -> Comparison:
    """Compare an earlier recording with that of this run.

    Raises:
        Error: They measure different things, or one of them has no tests.
    """
    difference = profundo.diff(before, after.path, by="span", per="run", limit=1000000)
    found = Comparison(before, difference.verdict)
    names = {test.name for test in results.tests.values()}
    for row in difference.rows:
        is_test = row.name in names or (row.what == "gone" and _is_test(row.name))
        if not is_test or not row.total.changed:
            continue
        found.rows.append(row)
        if fail_above is not None and row.what != "new" and _has_grown(row.total, fail_above):
            found.failures.append(row)
    found.rows.sort(key=lambda row: -abs(row.total.change))
    return found


def _has_grown(total: Change, percent: float) -> bool:
    """Whether a test takes more, beyond chance, by more than so much of what it took."""
    return total.change_low > 0 and total.change * 100 > percent * total.before


def _is_test(name: str) -> bool:
    return "::" in name and name not in _NO_TESTS
