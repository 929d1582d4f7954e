"""Python's own count of its blocks (``tracemalloc``), for tests that have limits of memory.

It is exact for what goes through Python's allocators, numpy's arrays among it. It makes code that
allocates much several times slower, so only tests with such limits are counted.
"""

from __future__ import annotations

from typing import Any, List, Optional, Tuple

from .limits import Limits

#: The frames that are kept of each block where places are compared.
_FRAMES = 16

#: What is counted now, the outermost first.
_open: List[Traced] = []


class Traced:
    """A count of the blocks that are allocated from here on. Counts may lie in one another.

    A program that traces by itself keeps its trace: nothing is counted then.
    """

    def __init__(self, limits: Limits) -> None:
        import tracemalloc

        self._limits = limits
        self._peak = 0
        self._before = 0
        self._is_on = True
        if not tracemalloc.is_tracing():
            tracemalloc.start(1 if limits.leak_of_place is None else _FRAMES)
            self._begins = True
        else:
            self._begins = False
            # Python 3.8 cannot begin a peak anew.
            self._is_on = bool(_open) and hasattr(tracemalloc, "reset_peak")
            if self._is_on:
                _look(tracemalloc)
                self._before, _ = tracemalloc.get_traced_memory()
                if limits.are_of_leaks:
                    self._before, _ = _left(tracemalloc, limits)
                tracemalloc.reset_peak()
        _open.append(self)

    def end(self) -> Tuple[Optional[int], Optional[int], List[Tuple[str, int]]]:
        """The peak, what is left, and where that was allocated."""
        import tracemalloc

        places: List[Tuple[str, int]] = []
        peak: Optional[int] = None
        left: Optional[int] = None
        if self._is_on and tracemalloc.is_tracing():
            _look(tracemalloc)
            peak = max(self._peak - self._before, 0)
            left, _ = tracemalloc.get_traced_memory()
            if self._limits.are_of_leaks:
                left, places = _left(tracemalloc, self._limits)
            left = max(left - self._before, 0)
        _open.remove(self)
        if self._begins:
            tracemalloc.stop()
        return peak, left, places


def _look(tracemalloc: Any) -> None:
    """Note the peak so far, for all that is counted."""
    _, peak = tracemalloc.get_traced_memory()
    for one in _open:
        one._peak = max(one._peak, peak)


def _left(tracemalloc: Any, limits: Limits) -> Tuple[int, List[Tuple[str, int]]]:
    """The bytes that are left, and the places that left more than they may.

    What pytest keeps of a test is not the test's.
    """
    import gc

    gc.collect()
    others = [tracemalloc.Filter(False, pattern) for pattern in _not_the_tests()]
    snapshot = tracemalloc.take_snapshot().filter_traces(others)
    left, places = 0, []
    for row in snapshot.statistics("traceback"):
        left += row.size
        if limits.leak_of_place is not None and row.size > limits.leak_of_place:
            frames = [_Frame(frame.filename, frame.lineno) for frame in reversed(row.traceback)]
            if limits.counts_place is None or limits.counts_place(_Stack(tuple(frames))):
                places.append((f"{frames[0].filename}:{frames[0].lineno}", row.size))
    return left, places


def _not_the_tests() -> List[str]:
    """Patterns of files that run tests."""
    import os
    import tracemalloc

    import _pytest
    import pluggy

    folders = [os.path.dirname(os.path.dirname(os.path.abspath(__file__)))]
    folders += [os.path.dirname(os.path.abspath(str(one.__file__))) for one in (_pytest, pluggy)]
    return [os.path.join(folder, "*") for folder in folders] + [tracemalloc.__file__]


class _Frame:
    """A frame, with the attributes that pytest-memray's filters look at."""

    def __init__(self, filename: str, lineno: int) -> None:
        self.filename = filename
        self.lineno = lineno

    @property
    def function(self) -> str:
        """The innermost function that has the line; ``???`` where it is not known."""
        import ast

        try:
            with open(self.filename, "rb") as file:
                tree = ast.parse(file.read())
        except (OSError, SyntaxError, ValueError):
            return "???"
        name = "<module>"
        # An inner function comes after the one around it.
        for node in ast.walk(tree):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                if node.lineno <= self.lineno <= (node.end_lineno or 0):
                    name = node.name
        return name


class _Stack:
    """The frames of a place, the innermost first."""

    def __init__(self, frames: Tuple[_Frame, ...]) -> None:
        self.frames = frames
