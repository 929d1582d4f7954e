"""The pytest plugin: which tests are the slowest and the hungriest, and the lines to blame.

Without ``--profundo`` nothing but this file is imported, and tests run as they would without it:
it has the options, the marks, and two fixtures that do nothing then.

=============== ============================================================================
``plugin``      the hooks of a run that is profiled
``measure``     what each phase of a test takes: clocks, and Python's count of its memory
``limits``      the marks, and amounts such as "200 ms"
``sampler``     the recording of this process, and those of xdist's workers
``blame``       which lines took a test's time
``compare``     what has changed since an earlier run
``tables``      the texts on the screen
``fixture``     the fixture ``profundo``
``benchmark``   the fixture ``benchmark``, where pytest-benchmark is absent
=============== ============================================================================
"""

from __future__ import annotations

import argparse

import pytest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .benchmark import Benchmark
    from .fixture import Measuring

#: What can be recorded, by its word in the option.
KINDS = ("cpu", "memory", "wall")

_MARKS = (
    "profundo(max_time=None, max_memory=None, max_allocations=None, max_leak=None): limits of a "
    "test, which --profundo checks: max_time='200 ms', max_memory='24 MB', max_allocations=10000, "
    "max_leak='1 MB'",
    "limit_memory(memory_limit, current_thread_only=False): pytest-memray's mark, which "
    "--profundo=memory checks",
    "limit_leaks(location_limit, filter_fn=None, current_thread_only=False): pytest-memray's mark, "
    "which --profundo=memory checks",
)


class _Kinds(argparse.Action):
    """``--profundo`` alone, and ``--profundo=cpu,memory``.

    ``argparse`` takes the next word for the value where it stands without ``=``. What is no kind
    is given back, because it is the path of a test.
    """

    def __call__(self, parser: Any, namespace: Any, values: Any, option_string: Any = None) -> None:
        kinds = values.split(",")
        if all(kind in KINDS for kind in kinds):
            setattr(namespace, self.dest, kinds)
            return
        if "=" not in values and "," not in values and _is_path(values):
            setattr(namespace, self.dest, ["cpu"])
            given_back = getattr(namespace, "_unrecognized_args", [])
            namespace._unrecognized_args = given_back + [values]
            return
        raise argparse.ArgumentError(self, f"{values!r}: the kinds are {', '.join(KINDS)}")


def _is_path(word: str) -> bool:
    """Whether a word is a test rather than a kind that was typed wrong."""
    import os

    return os.path.exists(word.split("::")[0])


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options. ``--profundo`` turns the plugin on."""
    group = parser.getgroup("profundo", "profiles of tests")
    add = group.addoption
    add(
        "--profundo",
        action=_Kinds,
        nargs="?",
        const="cpu",
        default=None,
        metavar="KINDS",
        help="Show the slowest tests and the lines to blame; =cpu,memory also those that need the "
        "most memory; =wall where they wait, too.",
    )
    add(
        "--profundo-dir",
        metavar="DIR",
        help="Keep the recording, and the figures of all tests as JSON, in this folder.",
    )
    add(
        "--profundo-top",
        type=int,
        default=10,
        metavar="N",
        help="Show so many tests of each kind (default: 10).",
    )
    add(
        "--profundo-compare",
        metavar="FILE",
        help="Compare with an earlier recording, or the newest one of a folder: show the tests "
        "that have changed beyond chance.",
    )
    add(
        "--profundo-fail-above",
        metavar="PERCENT",
        help="With --profundo-compare: fail if a test takes more by so much, beyond chance.",
    )


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    """Register the marks; and the hooks if they are wanted."""
    for mark in _MARKS:
        config.addinivalue_line("markers", mark)
    plugins = config.pluginmanager
    if not plugins.hasplugin("benchmark") and not plugins.hasplugin("codspeed"):
        plugins.register(_Benchmark(), "profundo-benchmark")
    if config.getoption("--profundo") is None:
        for option in ("dir", "compare", "fail_above"):
            if config.getoption(f"profundo_{option}") is not None:
                word = option.replace("_", "-")
                raise pytest.UsageError(f"--profundo-{word} needs --profundo")
        return
    from .plugin import register

    register(config)


@pytest.fixture
def profundo(request: pytest.FixtureRequest) -> Measuring:
    """Regions of a test: ``with profundo("load", max_time="50 ms") as part: …``.

    Limits are checked with ``--profundo``. ``part.seconds`` and ``part.cpu_seconds`` are always
    known afterwards.
    """
    from .fixture import Measuring

    return Measuring(request)


class _Benchmark:
    """The fixture of pytest-benchmark, where that plugin is absent."""

    @pytest.fixture
    def benchmark(self, request: pytest.FixtureRequest) -> Benchmark:
        """Call a function: many times with ``--profundo``, and once without."""
        from .benchmark import Benchmark

        return Benchmark(request)
