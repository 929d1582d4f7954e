"""The fixture ``benchmark``, for tests that were written for pytest-benchmark.

With ``--profundo`` the function is called in rounds, and the table has the median with its 95 %
interval. Without it, the function is called once.
"""

from __future__ import annotations

import time
from typing import Any, Callable, Dict, List, Optional, Tuple

#: The attribute of a test that has what was measured.
BENCHMARKS = "_profundo_benchmarks"

#: As pytest-benchmark has them.
_MIN_ROUNDS = 5
_MAX_TIME = 1.0
_MAX_ROUNDS = 100_000

#: A round is so long that the clock's own time is a thousandth of it.
_LEAST_ROUND = 1e-4


class Benchmark:
    """The object that a test gets."""

    def __init__(self, request: Any) -> None:
        self._item = request.node
        self._is_on = request.config.getoption("profundo") is not None
        mark = request.node.get_closest_marker("benchmark")
        given: Dict[str, Any] = {} if mark is None else mark.kwargs
        self.name: str = request.node.name
        self.fullname: str = request.node.nodeid
        self.group: Optional[str] = given.get("group")
        self.extra_info: Dict[str, Any] = {}
        self.disabled = not self._is_on
        self.enabled = self._is_on
        self._min_rounds = int(given.get("min_rounds", _MIN_ROUNDS))
        self._max_time = float(given.get("max_time", _MAX_TIME))
        self._timer: Callable[[], float] = given.get("timer", time.perf_counter)

    def __call__(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Call it with these arguments, again and again; the result of the first call."""
        began = self._timer()
        result = function(*args, **kwargs)
        took = self._timer() - began
        if self._is_on:
            calls = max(1, int(_LEAST_ROUND / max(took, 1e-9)))
            # The first call is slower than others, as it fills caches.
            calls = max(
                1, int(_LEAST_ROUND / max(self._round(function, args, kwargs, calls), 1e-9))
            )
            rounds: List[float] = []
            end = self._timer() + self._max_time
            while len(rounds) < _MAX_ROUNDS:
                rounds.append(self._round(function, args, kwargs, calls))
                if len(rounds) >= self._min_rounds and self._timer() >= end:
                    break
            self._add(rounds, calls)
        return result

    def pedantic(
        self,
        target: Callable[..., Any],
        args: Any = (),
        kwargs: Optional[Dict[str, Any]] = None,
        setup: Optional[Callable[[], Any]] = None,
        rounds: int = 1,
        warmup_rounds: int = 0,
        iterations: int = 1,
        teardown: Optional[Callable[..., Any]] = None,
    ) -> Any:
        """Call it in so many rounds of so many iterations, with a setup before each round."""
        kwargs = {} if kwargs is None else kwargs
        if setup is not None and (args or kwargs):
            raise TypeError("arguments come from the setup, or are given, and not both")
        if setup is not None and iterations != 1:
            raise ValueError("with a setup, a round has one iteration")
        if not self._is_on:
            rounds, warmup_rounds, iterations = 1, 0, 1
        times: List[float] = []
        result = None
        for number in range(warmup_rounds + rounds):
            if setup is not None:
                args, kwargs = setup() or ((), {})
            began = self._timer()
            for _ in range(iterations):
                result = target(*args, **kwargs)
            took = self._timer() - began
            if number >= warmup_rounds:
                times.append(took / iterations)
            if teardown is not None:
                teardown(*args, **kwargs)
        if self._is_on:
            self._add(times, iterations)
        return result

    def _round(
        self, function: Callable[..., Any], args: Any, kwargs: Dict[str, Any], calls: int
    ) -> float:
        """The time of one call, from so many of them."""
        timer = self._timer
        began = timer()
        for _ in range(calls):
            function(*args, **kwargs)
        return (timer() - began) / calls

    def _add(self, rounds: List[float], iterations: int) -> None:
        rounds.sort()
        median, low, high = interval(rounds)
        row = {
            "group": self.group,
            "median": median,
            "low": low,
            "high": high,
            "least": rounds[0],
            "rounds": len(rounds),
            "iterations": iterations,
        }
        self._item.__dict__.setdefault(BENCHMARKS, []).append(row)


def _calls(took: float) -> int:
    """How often a function is called in a round, if one call takes so long."""
    return max(1, int(_LEAST_ROUND / max(took, 1e-9)))


def interval(rounds: List[float]) -> Tuple[float, float, float]:
    """The median of sorted times, and the ends of its 95 % interval.

    The interval is that of the order statistics: it assumes no distribution. With fewer than six
    rounds, it is from the least to the greatest.
    """
    count = len(rounds)
    middle = (rounds[(count - 1) // 2] + rounds[count // 2]) / 2
    away = 0.98 * count**0.5
    low = max(int(count / 2 - away), 0)
    high = min(int(count / 2 + away) + 1, count) - 1
    return middle, rounds[low], rounds[max(high, low)]
