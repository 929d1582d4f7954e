"""The hooks of a run that is profiled.

Every test is a span with its node id as the name, and its three phases are spans in it. Figures
are measured in the process that runs the test, and travel with the report of each phase, as xdist
sends it. The recordings of all these processes are put together at the end.
"""

from __future__ import annotations

from typing import Any, Iterator, List, Optional

import pytest

from . import limits as _limits
from .benchmark import BENCHMARKS
from .limits import Limits
from .measure import Stopwatch, Taken
from .results import Results
from .sampler import Counting, Sampler, span

#: The attribute of a report that has its figures.
FIGURES = "profundo"


def register(config: pytest.Config) -> None:
    """Add the hooks for what this process does: it runs tests, gathers results, or both."""
    kinds = config.getoption("profundo")
    worker = getattr(config, "workerinput", None)
    plugins = config.pluginmanager
    if worker is None:
        results = Results(config)
        plugins.register(results, "profundo-results")
        folder = results.folder
        if _has_workers(config):
            plugins.register(_Nodes(folder), "profundo-nodes")
            return
    else:
        folder = worker["profundo_folder"]
    plugins.register(Tests(config, kinds, folder), "profundo-tests")


def _counts_allocations(item: pytest.Item) -> bool:
    mark = item.get_closest_marker("profundo")
    return mark is not None and "max_allocations" in mark.kwargs


def _function_of(item: pytest.Item) -> str:
    """The name of the function that a test is."""
    function = getattr(item, "function", None)
    return getattr(function, "__name__", None) or item.name.split("[", 1)[0]


def _has_workers(config: pytest.Config) -> bool:
    """Whether xdist's workers run the tests, and this process gathers."""
    dist = config.getoption("dist", "no")
    return dist != "no" and bool(config.getoption("tx", None))


class _Nodes:
    """Tells xdist's workers where their recordings go."""

    def __init__(self, folder: str) -> None:
        self._folder = folder

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        node.workerinput["profundo_folder"] = self._folder


class Tests:
    """Measures each test that this process runs, and has it recorded."""

    def __init__(self, config: pytest.Config, kinds: List[str], folder: str) -> None:
        self._memory = "memory" in kinds
        self._sampler = Sampler(config, kinds, folder)
        self._taken: Optional[Taken] = None
        self._limits: Optional[Limits] = None

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        # A recording has all allocations or a sample of them.
        self._sampler.start(exact=any(map(_counts_allocations, session.items)))

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        error = self._sampler.stop()
        output = getattr(session.config, "workeroutput", None)
        if output is not None:
            output["profundo_error"] = error
        elif error is not None:
            results = session.config.pluginmanager.getplugin("profundo-results")
            results.errors.append(error)

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        with span(item.nodeid):
            yield

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> Iterator[None]:
        self._limits = None
        yield from self._phase("setup")

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Iterator[None]:
        try:
            self._limits = limits = _limits.of_item(item)
        except (TypeError, ValueError) as error:
            pytest.fail(f"{item.nodeid}: {error}", pytrace=False)
        counts = limits is not None and limits.allocations is not None and self._memory
        counting = Counting(_function_of(item)) if counts else None
        if counting is None:
            yield from self._phase("call", limits)
            return
        counting.begin()
        yield from self._phase("call", limits)
        assert self._taken is not None
        self._taken.blocks = counting.end()

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_teardown(self, item: pytest.Item) -> Iterator[None]:
        yield from self._phase("teardown")

    def _phase(self, name: str, limits: Optional[Limits] = None) -> Iterator[None]:
        with span(f"test {name}"):
            watch = Stopwatch(self._memory, limits if self._memory else None)
            yield
            self._taken = watch.end()

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: Any) -> Iterator[None]:
        outcome = yield
        report = outcome.get_result()  # type: ignore[attr-defined]
        taken, self._taken = self._taken, None
        if taken is None:
            return
        figures = taken.plain()
        setattr(report, FIGURES, figures)
        figures["benchmarks"] = getattr(item, BENCHMARKS, [])
        if call.when != "call" or report.outcome != "passed" or hasattr(report, "wasxfail"):
            return
        limits = self._limits
        if limits is None:
            return
        broken = limits.broken_by(taken)
        if broken:
            report.outcome = "failed"
            report.longrepr = "\n".join(f"{item.nodeid}: {sentence}" for sentence in broken)
        figures["is_unchecked"] = not limits.are_known(taken)
