"""How candidates are timed: in turn, in rounds of a random order, as ``profundo bench`` does.

All of them run in this process, in the notebook's namespace. In each round every candidate runs
once. A run is cut into short parts, which the candidates take in turn, and the best part counts, so
that a disturbance does not hit all of them. Each round compiles the candidates anew, because the
place of their code in memory changes their time.

The steps of a measurement are a generator: it yields a candidate and a number of loops, and is sent
their time. So candidates that await are timed by the same steps as others.
"""

from __future__ import annotations

import gc
import itertools
import random
import time
from functools import partial
from typing import Any, Callable, Generator, Iterator, List, Sequence, Tuple

#: A candidate that runs a number of loops and returns their time in seconds, or awaits it.
Timed = Callable[[int], Any]
#: A candidate, and how many loops of it are to be run.
Step = Tuple[Timed, int]

#: The largest number of parts of a run.
MOST_PARTS = 20
#: Candidates that differ by less have parts of as many loops.
ALIKE = 1.25
#: The number of rounds of several candidates, and of one; the number however long they take.
ROUNDS, ROUNDS_OF_ONE, FEWEST = 20, 7, 10
#: The least time of a run of several candidates, and of one, in seconds.
LEAST, LEAST_OF_ONE = 0.1, 0.2
#: The time of all rounds, beyond the fewest, in seconds.
LONG = 60.0


def loop_counts() -> Iterator[int]:
    """1, 2, 5, 10, 20, 50 … as timeit tries them."""
    for power in range(19):
        for step in (1, 2, 5):
            yield step * 10**power


def orders(candidates: int) -> Iterator[List[int]]:
    """Orders of rounds without end: for each there is one with the opposite order."""
    while True:
        drawn = []
        for _ in range(5):
            order = list(range(candidates))
            random.shuffle(order)
            drawn += [order, order[::-1]]
        random.shuffle(drawn)
        yield from drawn


def run(timed: Timed, loops: int) -> float:
    """A run with the garbage collector off, as in timeit."""
    __tracebackhide__ = True
    was_on = gc.isenabled()
    gc.disable()
    try:
        return float(timed(loops))
    finally:
        if was_on:
            gc.enable()


async def run_awaiting(timed: Timed, loops: int) -> float:
    """As :func:`run`, for a candidate that awaits."""
    __tracebackhide__ = True
    was_on = gc.isenabled()
    gc.disable()
    try:
        return float(await timed(loops))
    finally:
        if was_on:
            gc.enable()


def driven(steps: Generator[Step, float, Measured]) -> Measured:
    """Run the steps of a measurement."""
    __tracebackhide__ = True
    go_on: Callable[[], Step] = partial(next, steps)
    while True:
        try:
            timed, loops = go_on()
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]
        try:
            go_on = partial(steps.send, run(timed, loops))
        except BaseException as error:
            go_on = partial(steps.throw, error)


async def driven_awaiting(steps: Generator[Step, float, Measured]) -> Measured:
    """Run the steps of a measurement whose candidates await."""
    __tracebackhide__ = True
    go_on: Callable[[], Step] = partial(next, steps)
    while True:
        try:
            timed, loops = go_on()
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]
        try:
            go_on = partial(steps.send, await run_awaiting(timed, loops))
        except BaseException as error:
            go_on = partial(steps.throw, error)


def loops_for(timed: Timed, least: float) -> Generator[Step, float, Tuple[int, float]]:
    """The first of timeit's loop counts that takes so long, and the time of a loop."""
    __tracebackhide__ = True
    loops, seconds = 1, 0.0
    for loops in loop_counts():
        seconds = yield timed, loops
        if seconds >= least:
            break
    return loops, seconds / loops


def parts_of(least: float, each: Sequence[float]) -> "tuple[int, List[int]]":
    """The number of parts of a run, and the loops of a part of each candidate.

    Args:
        least: The time of a whole run.
        each: The time of a loop of each candidate.
    """
    parts = int(min(max(least / max(max(each), 1e-9), 1.0), MOST_PARTS))
    loops = [1] * len(each)
    shortest = 0.0
    for index in sorted(range(len(each)), key=each.__getitem__):
        own = max(each[index], 1e-12)
        if own > shortest * ALIKE:
            shortest = own
        loops[index] = max(1, round(least / parts / shortest))
    return parts, loops


class Measured:
    """The runs of all candidates. Equal places are pairs."""

    def __init__(self, candidates: int) -> None:
        #: The loops of a run, by candidate.
        self.loops = [1] * candidates
        #: The seconds of each run, by candidate.
        self.runs: List[List[float]] = [[] for _ in range(candidates)]
        #: How many parts a run has; its time is that of the best.
        self.parts = 1
        #: Whether the user has stopped it.
        self.is_cut = False


def measure(
    make: Callable[[int], Timed],
    candidates: int,
    number: int = 0,
    repeat: int = 0,
    least: float = 0.0,
) -> Generator[Step, float, Measured]:
    """The steps that time all candidates.

    Args:
        make: Compiles a candidate, by its index.
        candidates: How many there are.
        number: The loops of a run; 0 to find them.
        repeat: The number of rounds; 0 for as many as a comparison needs.
        least: The least time of a run; 0 for the usual one.
    """
    __tracebackhide__ = True
    found = Measured(candidates)
    is_one = candidates == 1
    least = least or (LEAST_OF_ONE if is_one else LEAST)
    if number:
        found.loops = [number] * candidates
    elif is_one:
        found.loops = [(yield from loops_for(make(0), least))[0]]
    else:
        each = []
        for index in range(candidates):
            each.append((yield from loops_for(make(index), least / MOST_PARTS))[1])
        found.parts, found.loops = parts_of(least, each)
    wanted = repeat or (ROUNDS_OF_ONE if is_one else ROUNDS)
    began = time.monotonic()
    try:
        for done, order in enumerate(itertools.islice(orders(candidates), wanted)):
            if not repeat and done >= FEWEST and time.monotonic() - began > LONG:
                break
            for index, seconds in enumerate((yield from _round(make, found, order))):
                found.runs[index].append(seconds)
    except KeyboardInterrupt:
        # Half a round gives no pairs, so whole ones are kept.
        if not found.runs[0]:
            raise
        found.is_cut = True
    return found


def _round(
    make: Callable[[int], Timed], found: Measured, order: List[int]
) -> Generator[Step, float, List[float]]:
    """The best part of each candidate's run, in seconds."""
    __tracebackhide__ = True
    timed = [make(index) for index in range(len(order))]
    best = [float("inf")] * len(order)
    # The first run of fresh code is slower: the interpreter adapts it.
    for index in order:
        if found.loops[index] > 1:
            yield timed[index], max(1, found.loops[index] // 10)
    for _ in range(found.parts):
        for index in order:
            best[index] = min(best[index], (yield timed[index], found.loops[index]))
        order = order[::-1]
    return best
