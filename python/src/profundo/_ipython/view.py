"""The profile of a cell: its source with what each line took, as text, and the page.

It is never empty: a cell that was too short for samples has its lines as text all the same, and a
sentence on why they have no figures.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Dict, List, Optional, Sequence, Tuple
from urllib.parse import urlencode

from .. import _export, _rows
from .._error import Error
from .._profile import Profile
from .._rows import Line
from .._units import duration, size
from .._view import HEIGHT
from . import kernel
from .options import Options
from .tables import functions, without_filter

if TYPE_CHECKING:
    from .shown import Shown, Source

#: Sources of more lines show those that have something, and their neighbours.
_WHOLE = 60
_AROUND = 2

#: The columns of reports, and of a line of source.
_WIDTH = 110
_SOURCE = 160

#: The most rows of a source, and the most lines of other files.
_ROWS = 200
_ELSEWHERE = 20

#: Below this number of samples, shares are hardly known.
_FEW = 30

#: The columns of counted lines, as ``%lprun`` has them.
_COUNTED = ["Hits", "Time", "Per hit", "Time %"]

Place = Tuple[Optional[str], int]


class View:
    """What a notebook shows of a cell that has run.

    Args:
        shown: The cell, with its region.
        sources: The cell's source, and functions whose lines are asked for.
    """

    def __init__(self, shown: Shown, sources: List[Source]) -> None:
        self._options: Options = shown.options
        self._profile = shown.region
        self._title_of = sources[0].title
        self._traced: str = shown.options.traced
        # Calls and exceptions have tables of their own.
        self._sources = sources if self._traced in ("", "lines") else []
        self._error = shown.error
        # What it shows is found now: the next cell may change what it is from.
        # The frames of IPython below the cell, and its threads, say nothing of it.
        cell = self._profile.select(ignore=kernel.threads("wall" in self._options.recorded))
        if self._traced == "calls":
            # A stack of which nothing is left is IPython's own.
            hidden = {"hide": kernel.frames(with_threads=True), "transform": "drop-hidden"}
            self._inner = cell.select(**hidden)
        elif self._traced:
            # The frames of IPython have no lines that count.
            self._inner = self._profile.select()
        else:
            self._inner = cell.select(hide=kernel.frames())
        if self._traced:
            self._lines = self._profile.lines if self._traced == "lines" else []
        else:
            self._lines = _lines(cell)
        self._memory = _memory(self._profile) if self._options.has_memory else None
        self._text: Optional[str] = None

    @property
    def profile(self) -> Any:
        """The profile."""
        return self._profile

    @property
    def samples(self) -> int:
        """How many samples there are."""
        return int(self._inner._head()["selection"]["samples"])

    # The text.

    def __str__(self) -> str:
        if self._text is None:
            parts = [self._title()]
            verdict = self._inner._head().get("verdict") if self.samples else None
            parts += [verdict] if verdict else []
            parts += self._notes()
            for source in self._sources:
                parts += ["", self._as_text(source)]
            elsewhere = self._elsewhere()
            if elsewhere:
                parts += ["", self._title_of_elsewhere(elsewhere)]
                parts += [self._row(line) for line in elsewhere[:_ELSEWHERE]]
            report = self._report()
            parts += ["", report] if report else []
            quality = _quality(self._inner) if self.samples or self._traced else []
            parts += [""] + quality if quality else []
            self._text = "\n".join(parts).rstrip("\n")
        return self._text

    def __repr__(self) -> str:
        return str(self)

    def _title(self) -> str:
        title = f"{self._title_of}: {duration(self._profile.elapsed)}"
        if self._error is not None:
            title += f", ended by {type(self._error).__name__}"
        return title

    def _notes(self) -> List[str]:
        notes = []
        if self._traced in ("calls", "exceptions") and (
            self._options.functions or self._options.modules
        ):
            notes.append("-f and -m choose lines, which --trace=lines counts.")
        if not self._traced and self.samples < _FEW:
            advice = "A longer run or a higher --rate takes more; %%bench times what is short."
            if self.samples:
                plural = "" if self.samples == 1 else "s"
                few = f"Only {self.samples} sample{plural} fell into it, too few for shares."
            else:
                few = "No sample fell into it, so its lines have no shares."
            notes.append(f"{few} {advice}")
        return notes

    def _report(self) -> str:
        """The report that is asked for, or the functions."""
        options, profile = self._options, self._inner
        if self._traced == "exceptions":
            return profile.report("exceptions", width=_WIDTH).rstrip("\n")
        if self._traced == "lines":
            return ""
        if self._traced:
            asked: Dict[str, Any] = {"width": _WIDTH}
            if options.tree:
                return without_filter(profile.report("tree", **asked))
            if options.sort:
                asked["sort"] = ",".join(options.sort)
            if options.limits:
                asked["only"] = options.limits
            return without_filter(profile.report("trace", **asked))
        if not self.samples:
            return ""
        plain: Dict[str, Any] = {"width": _WIDTH, "no_quality": True}
        if options.tree:
            return without_filter(profile.report("tree", **plain))
        return functions(options, profile, plain)

    def _elsewhere(self) -> List[Line]:
        """Lines with time of their own that are in no source that is shown."""
        own = [line for line in self._lines if line.self_share is None or line.self_share > 0]
        return [line for line in own if not any(line in one for one in self._sources)]

    def _title_of_elsewhere(self, lines: List[Line]) -> str:
        title = "Lines elsewhere"
        return title if len(lines) <= _ELSEWHERE else f"{title}: {_ELSEWHERE} of {len(lines)}"

    def _row(self, line: Line) -> str:
        """A line of another file, as text."""
        if self._traced:
            cells = [f"{line.hits or 0:,}", duration(line.self_seconds)]
        else:
            cells = [_percent(line.total_share), _percent(line.self_share)]
        figures = "".join(f"{cell:>10}" for cell in cells)
        return f"{figures}  {line.place}  {_cut(line.text or '')}"

    def _as_text(self, source: Source) -> str:
        figures = self._figures(source)
        heads = ["Total %", "Own %"] if not self._traced else _COUNTED[:]
        if self._memory is not None:
            heads += ["Allocated", "Held"]
        rows = ["{}  Line  Source".format("".join(f"{head:>10}" for head in heads))]
        before = None
        for number, text in self._chosen(source):
            if before is not None and number != before + 1:
                rows.append("…".rjust(10 * len(heads) + 6))
            cells = "".join(f"{cell:>10}" for cell in figures.get(number, [""] * len(heads)))
            rows.append(f"{cells}  {number:>4}  {text}".rstrip())
            before = number
        return "\n".join([source.title] + rows)

    # The page.

    def _repr_mimebundle_(
        self, include: Optional[Sequence[str]] = None, exclude: Optional[Sequence[str]] = None
    ) -> Dict[str, str]:
        shown = {"text/plain": str(self)}
        # Without samples the page would be empty, and the text has the lines.
        if self.samples or self._traced:
            title = " · ".join([self._title()] + self._notes())
            page = self._inner._view(title, self._place())
            shown["text/html"] = page.framed(self._options.height or HEIGHT, str(self))
        return shown

    def _place(self) -> str:
        """Where the page begins: at the lines of the cell, or at what was counted."""
        if self._traced:
            return "exact"
        return "source?" + urlencode({"file": self._sources[0].file, "total": 1})

    # Its figures.

    def _figures(self, source: Source) -> Dict[int, List[str]]:
        """The cells of each line that has any."""
        found: Dict[int, List[str]] = {}
        inside = [line for line in self._lines if line in source]
        if self._traced and source.lines[0].startswith("%%profundo"):
            # The end of the region is counted there.
            inside = [line for line in inside if line.line != source.first]
        whole = sum(line.self_seconds or 0.0 for line in inside)
        for line in inside:
            if self._traced:
                taken, hits = line.self_seconds or 0.0, line.hits or 0
                found[line.line] = [
                    f"{hits:,}",
                    duration(taken),
                    duration(taken / hits) if hits else "",
                    f"{100 * taken / whole:.1f}" if whole else "",
                ]
            else:
                found[line.line] = [_percent(line.total_share), _percent(line.self_share)]
        if self._memory is not None:
            for number in range(source.first, source.first + len(source.lines)):
                allocated, held = (kind.get((source.file, number)) for kind in self._memory)
                if allocated or held or number in found:
                    cells = found.setdefault(number, ["", ""])
                    cells += [size(allocated or None), size(held or None)]
        return found

    def _chosen(self, source: Source) -> List[Tuple[int, str]]:
        """The lines of a source that are shown."""
        numbers = range(source.first, source.first + len(source.lines))
        if len(source.lines) > _WHOLE:
            hot = self._figures(source)
            near = {at + by for at in hot for by in range(-_AROUND, _AROUND + 1)}
            numbers = sorted(near.intersection(numbers)) or numbers[:_WHOLE]  # type: ignore
        return [(number, source.lines[number - source.first]) for number in numbers[:_ROWS]]

    # Files.

    def write(self) -> List[str]:
        """Write what ``-o`` and ``-T`` ask for; a sentence for each file."""
        written = []
        if self._options.output:
            path = os.path.expanduser(self._options.output)
            whole = _export.format_of(path, None) == _export.RECORDING
            # A recording is saved whole: it has what was recorded beside the cell, too.
            profile = Profile(self._profile.path) if whole else self._profile
            profile.save(path, force=True)
            written.append(f"The profile is in {path}.")
        if self._options.text_file:
            path = os.path.expanduser(self._options.text_file)
            try:
                with open(path, "w", encoding="utf-8") as file:
                    file.write(str(self) + "\n")
            except OSError as error:
                raise Error(f"cannot write {path}: {error.strerror}") from None
            written.append(f"The text is in {path}.")
        return written


def _lines(profile: Any) -> List[Line]:
    """All lines, also those that only call what takes time."""
    return _rows.lines(profile.json("lines", limit=1000000, min_share=0, total=True))


def _quality(profile: Any) -> List[str]:
    """Sentences on the quality, without those that are true of each recording from within."""
    sentences = str(profile.quality).split("\n")
    return [one for one in sentences if one and "was cleared on request" not in one]


def _memory(profile: Any) -> Optional[Tuple[Dict[Place, float], Dict[Place, float]]]:
    """The bytes that each line has allocated, and those of them that are held at the end."""
    found = []
    for kind in ("allocated", "live"):
        try:
            lines = _lines(profile.select(of=kind))
        except Error:
            return None
        found.append({(line.file, line.line): line.total_bytes or 0.0 for line in lines})
    return found[0], found[1]


def _cut(text: str) -> str:
    """A line of source, no longer than a screen is wide."""
    return text if len(text) <= _SOURCE else text[: _SOURCE - 1] + "…"


def _percent(share: Optional[float]) -> str:
    return "" if share is None else f"{100 * share:.1f}"
