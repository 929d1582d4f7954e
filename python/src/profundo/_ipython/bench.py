"""``%bench`` and ``%%bench``: candidates in the notebook's namespace, timed in turn."""

from __future__ import annotations

import contextlib
import io
import linecache
import os
import re
import time
from typing import Any, Iterator, List, Optional, Tuple

from IPython.core.error import UsageError

from .._profile import Kept
from . import candidates as pieces
from . import options, rewriting, timing
from .benchmark import judged
from .candidates import Candidate
from .options import Given
from .shown import number_of_cell

#: Other programs that have more of the processors than this are named.
_BUSY = 0.2

#: Between statements of one line.
_BETWEEN = re.compile(r"\s+-{3}\s+")


class Bench:
    """A benchmark of the notebook.

    Args:
        shell: IPython's shell.
        given: The options.
        rest: The statements of a line, or the setup of a cell.
        cell: The cell's text below the magic.
        line: The line of the magic.
    """

    def __init__(self, shell: Any, given: Given, rest: str, cell: Optional[str], line: int) -> None:
        if cell is None:
            texts = [text for text in _BETWEEN.split(rest) if text.strip()]
            self._found = [Candidate(text, line) for text in texts]
            setup = ""
        else:
            setup = rest
            self._found = pieces.split(cell, line + 1)
        if not self._found:
            raise UsageError("%bench needs a statement, and %%bench candidates below it")
        self._names = shell.user_ns
        self._given = given
        self._is_cpu = "-c" in given
        #: Whether a candidate or the setup awaits something.
        self.awaits = any(rewriting.is_async(one.text) for one in self._found)
        self.awaits = self.awaits or rewriting.is_async(setup)
        self._file = _as_file(shell, ("%%bench " if cell is not None else "") + rest, cell, line)
        self._setup = pieces.parse(_plain(shell, setup), line, self._file)
        self._bodies = [
            pieces.parse(_plain(shell, one.text), one.line, self._file) for one in self._found
        ]

    def run(self) -> Any:
        """Measure, show, and return the measurement if that is asked for."""
        __tracebackhide__ = True
        if self.awaits:
            raise UsageError(
                "what awaits is timed where the magic stands alone: %%bench in the first line of a "
                "cell, or %bench in a line of its own"
            )
        if "--check" in self._given:
            answers = []
            for answer in self._answers():
                with _printed() as printed:
                    answers.append((answer(), printed))
            _check(self._found, [(value, one.getvalue()) for value, one in answers])
        watch = _Watch()
        with pieces.without_output():
            measured = timing.driven(self._steps())
        return self._shown(measured, watch)

    async def run_awaiting(self) -> Any:
        """The same in the notebook's own loop of events."""
        __tracebackhide__ = True
        if "--check" in self._given:
            answers = []
            for answer in self._answers():
                with _printed() as printed:
                    answers.append((await answer(), printed))
            _check(self._found, [(value, one.getvalue()) for value, one in answers])
        watch = _Watch()
        with pieces.without_output():
            measured = await timing.driven_awaiting(self._steps())
        return self._shown(measured, watch)

    def _answers(self) -> List[Any]:
        return [
            pieces.answer(body, self._setup, self._file, self._names, self.awaits)
            for body in self._bodies
        ]

    def _steps(self) -> Any:
        timer = time.process_time if self._is_cpu else time.perf_counter

        def make(index: int) -> timing.Timed:
            return pieces.compiled(
                self._bodies[index], self._setup, self._file, self._names, timer, self.awaits
            )

        return timing.measure(
            make,
            len(self._found),
            number=options.number(self._given, "-n"),
            repeat=options.number(self._given, "-r"),
            least=options.number(self._given, "--min-time", float, 0.0),
        )

    def _shown(self, measured: timing.Measured, watch: _Watch) -> Any:
        remarks = _remarks(self._found, measured) + watch.remarks()
        if self.awaits:
            remarks.append("What other tasks of the loop did meanwhile is in the times.")
        kept = Kept()
        result = judged(self._found, measured, self._is_cpu, remarks, kept.file("bench.json"))
        if "-q" not in self._given:
            from IPython.display import display

            display(result)
        return result if "-o" in self._given else None


@contextlib.contextmanager
def _printed() -> Iterator[io.StringIO]:
    """What is printed meanwhile."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        yield printed


def _plain(shell: Any, text: str) -> str:
    """Python without magics: ``!ls`` and ``%magic`` as calls."""
    return str(shell.transform_cell(text)) if text.strip() else ""


def _as_file(shell: Any, first: str, cell: Optional[str], line: int) -> str:
    """A name for the source, under which tracebacks find it."""
    file = f"<ipython-input-{number_of_cell(shell)}-bench-{line}>"
    lines = [""] * (line - 1) + [first] + ([] if cell is None else cell.split("\n"))
    linecache.cache[file] = (len(first), None, [one + "\n" for one in lines], file)
    return file


def _check(found: List[Candidate], answers: List[Tuple[Any, str]]) -> None:
    """See that all candidates give the same value, and print the same.

    Raises:
        UsageError: They do not.
    """
    value, printed = answers[0]
    for candidate, (other, theirs) in zip(found[1:], answers[1:]):
        if theirs != printed:
            raise UsageError(f"`{found[0].name}` and `{candidate.name}` print different texts")
        same = pieces.are_same(value, other)
        if not same:
            verb = "give different values" if same is False else "give values that do not compare"
            raise UsageError(
                f"`{found[0].name}` and `{candidate.name}` {verb}: {_short(value)} and "
                f"{_short(other)}"
            )


def _short(value: Any) -> str:
    text = " ".join(repr(value).split())
    return text if len(text) <= 60 else text[:59] + "…"


def _remarks(found: List[Candidate], measured: timing.Measured) -> List[str]:
    remarks = []
    if len(found) > 1 and measured.parts > 1:
        remarks.append(
            "They ran in turn, in this process. "
            f"Each run is the fastest of {measured.parts} repetitions."
        )
    if measured.is_cut:
        remarks.append(f"It was stopped after {len(measured.runs[0])} runs.")
    return remarks


class _Watch:
    """What else has run on the machine meanwhile."""

    def __init__(self) -> None:
        self._began = time.monotonic()
        self._busy, self._own = _busy(), time.process_time()

    def remarks(self) -> List[str]:
        """A sentence, if it was much."""
        passed = time.monotonic() - self._began
        busy = _busy()
        if busy is None or self._busy is None or passed < 0.1:
            return []
        others = (busy - self._busy - (time.process_time() - self._own)) / passed
        if others < _BUSY:
            return []
        return [
            f"Warning: other programs had {others:.1f} of {os.cpu_count()} processors meanwhile "
            f"(load {os.getloadavg()[0]:.2f}): -c measures CPU time, which they disturb less."
        ]


def _busy() -> Optional[float]:
    """The CPU time of all programs so far, in seconds."""
    try:
        with open("/proc/stat") as file:
            words = file.readline().split()
        ticks = [int(word) for word in words[1:]]
        # user, nice, system, and after idle and iowait: irq, softirq.
        return (sum(ticks[:3]) + sum(ticks[5:7])) / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError):
        return None
