"""What all tests took, gathered where pytest prints: from this process or from xdist's workers."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import time
from typing import Any, Dict, List, Optional

import pytest

import profundo

from .._error import Error
from .._profile import Profile
from . import tables
from .compare import Comparison, compared
from .limits import percent

PHASES = ("setup", "call", "teardown")


class Test:
    """The figures of one test, by phase."""

    __test__ = False

    def __init__(self, name: str, worker: Optional[str]) -> None:
        self.name = name
        self.worker = worker
        self.phases: Dict[str, Dict[str, Any]] = {}

    def seconds(self, phase: str) -> float:
        """The elapsed time of a phase."""
        return float(self.phases.get(phase, {}).get("seconds", 0.0))

    @property
    def total(self) -> float:
        """The elapsed time of all phases."""
        return float(sum(map(self.seconds, PHASES)))

    @property
    def cpu_seconds(self) -> float:
        """The CPU time of all phases."""
        return float(sum(phase["cpu_seconds"] for phase in self.phases.values()))

    @property
    def waited_seconds(self) -> float:
        """The part of its time in which it neither ran nor was ready to run."""
        queued = sum(phase["queued_seconds"] for phase in self.phases.values())
        return max(self.total - self.cpu_seconds - queued, 0.0)

    @property
    def call(self) -> Dict[str, Any]:
        """The figures of the call."""
        return self.phases.get("call", {})

    @property
    def grown(self) -> int:
        """By how many bytes its process has grown at most, in one of the phases."""
        return max((phase.get("grown") or 0 for phase in self.phases.values()), default=0)

    @property
    def times(self) -> Any:
        """Its first and its last moment, since 1970."""
        begins = min(phase["began"] for phase in self.phases.values())
        ends = max(phase["began"] + phase["seconds"] for phase in self.phases.values())
        return begins, ends


class Results:
    """Gathers reports, puts recordings together, and prints."""

    def __init__(self, config: pytest.Config) -> None:
        option = config.getoption
        self.kinds: List[str] = option("profundo")
        self.top: int = option("profundo_top")
        self.errors: List[str] = []
        self.tests: Dict[Any, Test] = {}
        self.profile: Optional[Profile] = None
        self.comparison: Optional[Comparison] = None
        self._kept_in: Optional[str] = option("profundo_dir")
        self._kept: Optional[str] = None
        above = option("profundo_fail_above")
        self._fail_above = None if above is None else percent(above)
        self._before = _earlier(option("profundo_compare"))
        if self._before is None and above is not None:
            raise pytest.UsageError("--profundo-fail-above needs --profundo-compare")
        #: Where the processes that run tests put their recordings.
        self.folder = tempfile.mkdtemp(prefix="profundo-pytest-")

    # What comes in.

    def pytest_runtest_logreport(self, report: Any) -> None:
        figures = getattr(report, "profundo", None)
        if figures is None:
            return
        node = getattr(report, "node", None)
        worker = None if node is None else node.gateway.id
        key = (report.nodeid, worker)
        if report.when == "setup" or key not in self.tests:
            self.tests[key] = Test(report.nodeid, worker)
        self.tests[key].phases[report.when] = figures

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any, error: Any) -> None:
        said = getattr(node, "workeroutput", {}).get("profundo_error")
        if said is not None:
            self.errors.append(f"{node.gateway.id}: {said}")

    # The end.

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if not self.tests:
            return
        try:
            self._put_together()
        except (Error, OSError) as error:
            self.errors.append(f"the recordings cannot be put together: {error}")
        if self._before is None or self.profile is None:
            return
        try:
            self.comparison = compared(self._before, self.profile, self, self._fail_above)
        except Error as error:
            self.errors.append(f"cannot compare with {self._before}: {error}")
            has_failed = self._fail_above is not None
        else:
            has_failed = bool(self.comparison.failures) or self.comparison.whole_failed
        if has_failed and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def _put_together(self) -> None:
        names = sorted(name for name in os.listdir(self.folder) if name.endswith(".profundo"))
        paths = [os.path.join(self.folder, name) for name in names]
        if len(paths) == 1:
            self.profile = Profile(paths[0])
        elif paths:
            workers = [f"worker={name[: -len('.profundo')]}" for name in names]
            output = os.path.join(self.folder, "merged")
            self.profile = profundo.merge(*paths, label=workers, align="clock", output=output)
        if self._kept_in is not None:
            os.makedirs(self._kept_in, exist_ok=True)
            stem = os.path.join(self._kept_in, time.strftime("pytest-%Y%m%d-%H%M%S"))
            if self.profile is not None:
                self._kept = stem + ".profundo"
                self.profile.save(self._kept)
            with open(stem + ".json", "w", encoding="utf-8") as file:
                json.dump({"tests": [_document(test) for test in self.tests.values()]}, file)

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        if self.tests:
            tables.write(terminalreporter, self, self._kept)

    def pytest_unconfigure(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)


def _document(test: Test) -> Dict[str, Any]:
    phases = {
        name: {key: value for key, value in phase.items() if key != "benchmarks"}
        for name, phase in test.phases.items()
    }
    benchmarks = test.call.get("benchmarks", [])
    return {"test": test.name, "worker": test.worker, "benchmarks": benchmarks, **phases}


def _earlier(path: Optional[str]) -> Optional[str]:
    """The recording to compare with."""
    if path is None:
        return None
    if os.path.isdir(path):
        names = sorted(name for name in os.listdir(path) if name.endswith(".profundo"))
        if not names:
            raise pytest.UsageError(f"--profundo-compare: there is no recording in {path}")
        return os.path.join(path, names[-1])
    if not os.path.exists(path):
        raise pytest.UsageError(f"--profundo-compare: there is no {path}")
    return os.path.abspath(path)
