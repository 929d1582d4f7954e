"""The recording of this process while it runs tests."""

from __future__ import annotations

import os
from typing import Any, ContextManager, List, Optional

import pytest

import profundo

from .._error import Error
from .._live.sampler import SAMPLER
from .._profile import Profile


def span(name: str) -> ContextManager[Any]:
    """A span of this thread, and of the tasks that it creates."""
    return profundo.span(name)


class Sampler:
    """One recording for all tests of a process."""

    def __init__(self, config: pytest.Config, kinds: List[str], folder: str) -> None:
        worker = getattr(config, "workerinput", {}).get("workerid", "main")
        self._path = os.path.join(folder, f"{worker}.profundo")
        self._wall = "wall" in kinds
        self._memory = "memory" in kinds
        self._region: Optional[Any] = None
        self._error: Optional[str] = None

    def start(self, exact: bool) -> None:
        """Begin. Tests run all the same where nothing can be recorded.

        Args:
            exact: With memory, whether each single allocation is recorded.
        """
        memory = self._memory and ("exact" if exact else True)
        self._region = profundo.start("pytest", wall=self._wall, memory=memory)
        if self._region.error is not None and self._memory:
            self._error = f"the lines that allocate are not known: {self._region.error}"
            profundo.stop()
            self._region = profundo.start("pytest", wall=self._wall)

    def stop(self) -> Optional[str]:
        """End, and write the recording. The text is a sentence on what is missing."""
        if self._region is None:
            return None
        try:
            region = profundo.stop()
            Profile(region.path).save(self._path)
        except Error as error:
            return f"the lines to blame are not known: {error}"
        return self._error


class Counting:
    """Counts the allocations of a test: of its function and what that calls, and of all threads
    but the one that runs tests.

    The recording has sums by stack. It is split before the test and after it, so that sums of the
    part between are the test's, but for what pytest and this plugin do.
    """

    def __init__(self, function: str) -> None:
        self._function = function
        self._part: Optional[int] = None

    def begin(self) -> None:
        """The test begins."""
        options = SAMPLER.options
        if options is None or options.memory != "exact":
            return
        try:
            self._part = SAMPLER.split()
        except Error:
            # It is not counted.
            pass

    def end(self) -> Optional[int]:
        """The number of allocations; ``None`` where they were not recorded."""
        if self._part is None:
            return None
        try:
            part = SAMPLER.since(self._part)
            own = _blocks(part.select(function=self._function))
            return own + _blocks(part.select(ignore=_RUNNER))
        except (Error, KeyError, TypeError):
            return None


#: A function that is on each stack of the thread that runs tests.
_RUNNER = "^pytest_runtestloop$"


def _blocks(profile: Profile) -> int:
    return int(profile.json("allocs")["allocations"]["total"]["allocated_blocks"])
