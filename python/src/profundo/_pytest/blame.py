"""The lines to blame: where a test's time went, and which lines allocated."""

from __future__ import annotations

from typing import Any, Dict, List

from .._error import Error
from .._profile import Profile
from .._rows import Line

#: The most lines of a test, and the least share of one that is shown.
MOST = 3
LEAST = 0.05

#: Fewer samples of a test say nothing about its lines.
FEWEST = 5

#: What a worker of xdist is started with (``python -c``). All that it does is below this line.
_WORKER = "import sys;exec(eval(sys.stdin.readline()))"


def of_time(profile: Profile, test: Any) -> List[Line]:
    """The lines that took a test's time; none where it has few samples.

    Of elapsed time, the waits of all threads would count, those of idle ones too. So only that of
    the test's own thread and tasks counts, if the test is a span in the recording.
    """
    window = _window(profile, test)
    if profile._recording("measures") != "cpu":
        found = _blame(profile, {"span": test.name, **window})
        if found:
            return found
    return _blame(profile, window)


def of_memory(profile: Profile, test: Any) -> List[Line]:
    """The lines that allocated most bytes in a test.

    Allocations have no times in a recording, so they are found by the test's span.
    """
    return _blame(profile, {"of": "allocated", "span": test.name, **_worker(test)})


def _window(profile: Profile, test: Any) -> Dict[str, Any]:
    """The options that choose the samples of a test.

    Tests of one process run one after the other. So all that its threads and its children do from
    the first moment of a test to the last belongs to that test.
    """
    zero = profile._recording("started_unix_seconds")
    begins, ends = test.times
    return {"from_": f"{max(begins - zero, 0):.6f}", "to": f"{ends - zero:.6f}", **_worker(test)}


def _worker(test: Any) -> Dict[str, Any]:
    return {} if test.worker is None else {"label": f"worker={test.worker}"}


def _blame(profile: Profile, options: Dict[str, Any]) -> List[Line]:
    for mine in ({"only_mine": True}, {}):
        try:
            lines = profile.select(**mine, **options).lines
        except Error:
            return []
        if sum(line.self_samples or 0 for line in lines) < FEWEST:
            return []
        lines = [line for line in lines if (line.self_share or 0) >= LEAST and not _is_worker(line)]
        if lines:
            return lines[:MOST]
    return []


def _is_worker(line: Line) -> bool:
    """Whether a line is the first one of a worker, which says nothing about a test.

    The text is missing where several programs of a recording have the name ``<string>``.
    """
    is_first = line.file == "<string>" and line.line == 1 and line.function == "<module>"
    return is_first and line.text in (None, _WORKER)
