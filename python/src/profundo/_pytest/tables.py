"""The texts that a run ends with."""

from __future__ import annotations

from typing import Any, Dict, List, Optional, Tuple

from .._rows import Line
from .._units import duration, size
from . import blame

#: Tests below this time are not called slow.
_LEAST = 0.005

#: Less than this is within the roughness of the kernel's count.
_LEAST_GROWN = 500_000


def write(reporter: Any, results: Any, kept: Optional[str]) -> None:
    """Write all tables."""
    tests = list(results.tests.values())
    reporter.section("profundo", sep="=")
    _slowest(reporter, results, tests)
    if "memory" in results.kinds:
        _hungriest(reporter, results, tests)
    _benchmarks(reporter, tests)
    if results.comparison is not None:
        _changes(reporter, results)
    unchecked = sum(1 for test in tests if test.call.get("is_unchecked"))
    if unchecked:
        which = "1 test has" if unchecked == 1 else f"{unchecked} tests have"
        why = "memory, which --profundo=memory checks"
        if "memory" in results.kinds:
            why = "time, which is not checked while memory is counted, or of what is not known here"
        reporter.write_line(f"{which} limits of {why}.")
    for error in results.errors:
        reporter.write_line(f"Warning: {error}", yellow=True)
    if kept is not None:
        reporter.write_line(f"Recording: {kept}; `profundo report {kept} spans` has all tests.")


def _slowest(reporter: Any, results: Any, tests: List[Any]) -> None:
    tests = sorted(tests, key=lambda test: -test.total)
    shown = [test for test in tests[: results.top] if test.total >= _LEAST]
    whole = sum(test.total for test in tests)
    reporter.write_line(
        f"{_count(len(tests))} took {duration(whole)}, with "
        f"{duration(sum(test.cpu_seconds for test in tests))} of CPU time."
    )
    if not shown:
        return
    reporter.write_line("")
    reporter.write_line("    Time     CPU   Setup    Call  Teardn  Slowest tests", bold=True)
    for test in shown:
        times = (test.total, test.cpu_seconds, *map(test.seconds, ("setup", "call", "teardown")))
        cells = "".join(f" {duration(one):>7}" for one in times)
        reporter.write_line(f"{cells}  {test.name}")
        found = [] if results.profile is None else blame.of_time(results.profile, test)
        _lines(reporter, found)
        waited = test.waited_seconds
        if waited > test.total / 2 and waited > 0.05 and "wall" not in results.kinds:
            _below(reporter, f"it waited {duration(waited)}; --profundo=wall shows where")
    _rest(reporter, len(tests) - len(shown))


def _hungriest(reporter: Any, results: Any, tests: List[Any]) -> None:
    tests = [test for test in tests if test.grown >= _LEAST_GROWN]
    tests.sort(key=lambda test: -test.grown)
    shown = tests[: results.top]
    reporter.write_line("")
    if not shown:
        reporter.write_line(f"No test grew the process by {size(_LEAST_GROWN)} or more.")
        return
    reporter.write_line("   Grown  Counted    Left  Hungriest tests", bold=True)
    for test in shown:
        counted, left = test.call.get("peak"), test.call.get("left")
        cells = f"{size(test.grown):>8} {size(counted):>8} {size(left):>7}"
        reporter.write_line(f"{cells}  {test.name}")
        found = [] if results.profile is None else blame.of_memory(results.profile, test)
        _lines(reporter, found)
    _rest(reporter, len(tests) - len(shown))


def _lines(reporter: Any, found: List[Line]) -> None:
    for line in found:
        place = f"{_short(line.file)}:{line.line}"
        share = f"{100 * (line.self_share or 0):.0f} %"
        _below(reporter, f"{share:>5}  {place}  {line.text or line.function or ''}")


def _below(reporter: Any, text: str) -> None:
    width = max(reporter._tw.fullwidth - 1, 60)
    reporter.write_line((" " * 8 + text)[:width], light=True)


def _rest(reporter: Any, count: int) -> None:
    if count > 0:
        reporter.write_line(f"… and {count} more; --profundo-top shows more")


def _benchmarks(reporter: Any, tests: List[Any]) -> None:
    rows: List[Tuple[str, Dict[str, Any]]] = [
        (test.name, one) for test in tests for one in test.call.get("benchmarks", [])
    ]
    if not rows:
        return
    reporter.write_line("")
    reporter.write_line("  Median            95 %  Rounds   Calls  Benchmarks", bold=True)
    for name, one in sorted(rows, key=lambda row: (row[1]["group"] or "", row[1]["median"])):
        interval = f"{duration(one['low'])} – {duration(one['high'])}"
        reporter.write_line(
            f"{duration(one['median']):>8} {interval:>18}{one['rounds']:>5}"
            f"{one['rounds'] * one['iterations']:>8}  {name}"
        )


def _changes(reporter: Any, results: Any) -> None:
    found = results.comparison
    reporter.write_line("")
    reporter.write_line(f"Against {found.before}: {found.verdict}", red=found.whole_failed)
    if found.whole_failed:
        reporter.write_line("All tests together are above --profundo-fail-above.", red=True)
    if not found.rows:
        reporter.write_line("No single test has changed by more than chance and the whole.")
        return
    reporter.write_line("  Before   After  Change            Tests that have changed", bold=True)
    for row in found.rows[: results.top]:
        total = row.total
        before, after = (duration(one) if one else "–" for one in (total.before, total.after))
        change = f"{row.what:>8}"
        if total.before and total.after:
            margin = 50 * (total.change_high - total.change_low) / total.before
            change = f"{100 * total.change / total.before:+7.0f} % ±{margin:<4.0f}"
        reporter.write_line(
            f"{before:>8} {after:>7}{change:<16}  {row.name}", red=row in found.failures
        )
    _rest(reporter, len(found.rows) - results.top)
    if found.failures:
        reporter.write_line(f"{_count(len(found.failures))} above --profundo-fail-above.", red=True)


def _count(number: int) -> str:
    return "1 test" if number == 1 else f"{number} tests"


def _short(file: Optional[str]) -> str:
    """A path from the current folder, if it is below that."""
    import os

    if file is None:
        return "?"
    here = os.getcwd() + os.sep
    return file[len(here) :] if file.startswith(here) else file
