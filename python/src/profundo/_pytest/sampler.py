"""The recording of this process while it runs tests."""

from __future__ import annotations

import os
from typing import Any, ContextManager, List, Optional

import pytest

import profundo

from .._error import Error
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

    def counting(self) -> Any:
        """A region in which each allocation is recorded."""
        return profundo.profile("test allocations", memory="exact")

    def blocks_of(self, region: Any) -> Optional[int]:
        """How often was allocated in a region; ``None`` where that was not recorded."""
        try:
            return int(region.json("allocs")["allocations"]["total"]["allocated_blocks"])
        except (Error, KeyError, TypeError):
            return None
