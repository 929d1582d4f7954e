"""What ``%%bench`` has measured: the command judges it, and a notebook shows it."""

from __future__ import annotations

import json
import os
import platform
import time
from html import escape
from typing import Any, Dict, List, Optional, Sequence

from .. import _command
from .._framed import document, framed
from .._units import duration
from .candidates import Candidate
from .timing import Measured


class Benchmark:
    """Candidates, their times, and the ratio of each two with its 95 % interval.

    ``str(b)`` is the table. In a notebook it is shown as a table, too.
    """

    def __init__(self, document: Dict[str, Any], text: str) -> None:
        self._document = document
        self._text = text

    @property
    def candidates(self) -> List[Dict[str, Any]]:
        """Each candidate: ``name``, ``text``, ``loops``, ``best_seconds``, ``runs`` and others."""
        return list(self._document["candidates"])

    @property
    def comparisons(self) -> List[Dict[str, Any]]:
        """A row for each pair: ``one`` takes ``ratio`` times as long as ``other``.

        The interval is from ``ratio_low`` to ``ratio_high``; ``differs`` says if it excludes 1.
        """
        return list(self._document["comparisons"])

    @property
    def fastest(self) -> Optional[str]:
        """The candidate that is certain to be faster than all others."""
        fastest: Optional[str] = self._document["fastest"]
        return fastest

    def json(self) -> Dict[str, Any]:
        """The measurement as the document of ``profundo bench --json``."""
        return self._document

    def save(self, path: Any) -> None:
        """Write the measurement to a file, for ``profundo bench --against``."""
        with open(os.fspath(path), "w", encoding="utf-8") as file:
            json.dump(self._document, file, indent=2)

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        names = ", ".join(candidate["name"] for candidate in self.candidates)
        return f"<Benchmark: {names}>"

    def _repr_mimebundle_(
        self, include: Optional[Sequence[str]] = None, exclude: Optional[Sequence[str]] = None
    ) -> Dict[str, str]:
        rows = len(self.candidates)
        below, lines = _page(self)
        height = 80 + 24 * rows + 22 * lines
        return {
            "text/plain": self._text,
            "text/html": framed(document("bench", _STYLE, below, _POLICY), height, self._text),
        }


_POLICY = "default-src 'none'; style-src 'unsafe-inline'"

_STYLE = """<style>
:root{color-scheme:light dark}
body{margin:0;padding:8px;font:13px/1.4 system-ui,sans-serif}
p{margin:2px 0}
table{border-collapse:collapse;font:12px ui-monospace,SFMono-Regular,Menlo,Consolas,monospace}
th{text-align:left;font-weight:normal;border-bottom:1px solid light-dark(#d5dae0,#333b44)}
th,td{padding:2px 10px 2px 0;white-space:pre;vertical-align:top}
th,.faint{color:light-dark(#556070,#a3afbd)}
.n{text-align:right}
.bar{width:120px;height:10px;margin-top:4px;background:light-dark(#eef1f4,#262b31)}
.bar i{display:block;height:10px;background:light-dark(#568df0,#4d84e8)}
</style>"""


def judged(
    candidates: Sequence[Candidate],
    measured: Measured,
    is_cpu: bool,
    remarks: Sequence[str],
    file: str,
) -> Benchmark:
    """The command's judgement of a measurement.

    Args:
        candidates: The candidates.
        measured: Their runs.
        is_cpu: Whether the clock was that of CPU time.
        remarks: Further sentences for the reader.
        file: A path that the measurement may have for a moment.
    """
    by = f"{platform.python_implementation()} {platform.python_version()}"
    document = {
        "profundo": {"schema": 2, "report": "bench"},
        "subject": "python",
        "clock": "cpu" if is_cpu else "wall",
        "started_unix_seconds": int(time.time()),
        "machine": _machine(),
        "candidates": [
            {
                "name": candidate.name,
                "text": candidate.text,
                "by": by,
                "loops": loops,
                "runs": [{"seconds": seconds} for seconds in runs],
            }
            for candidate, loops, runs in zip(candidates, measured.loops, measured.runs)
        ],
    }
    with open(file, "w", encoding="utf-8") as out:
        json.dump(document, out)
    try:
        words = ["bench", "--no-config", "--measured", file]
        found = _command.document(words, (0,))
        text = _command.text(words, (0,))
    finally:
        os.remove(file)
    found["remarks"] = list(remarks) + found["remarks"]
    text = text.rstrip("\n") + "".join(f"\n{remark}" for remark in remarks)
    return Benchmark(found, text)


def _machine() -> Dict[str, Any]:
    """The machine as the command describes it."""
    model = governor = None
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
            names = (line.partition(":") for line in file)
            model = next((text.strip() for name, _, text in names if "model name" in name), None)
    except OSError:
        pass
    try:
        with open("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor") as file:
            governor = file.read().strip()
    except OSError:
        pass
    return {
        "cpu": model,
        "cpus": len(os.sched_getaffinity(0)),
        "kernel": platform.release(),
        "governor": governor,
    }


def _page(benchmark: Benchmark) -> "tuple[str, int]":
    """The table as HTML, and how many lines of text stand below it."""
    document = benchmark.json()
    candidates = document["candidates"]
    ratios = {
        row["one"]: row for row in document["comparisons"] if row["other"] == candidates[0]["name"]
    }
    most = max(candidate["mean_seconds"] or 0.0 for candidate in candidates) or 1.0
    heads = ["", "Mean", "", "±", "Best"]
    if len(candidates) > 1:
        heads += ["Time, first = 1", "95 % sure"]
    parts = ["<table><tr>{}</tr>".format("".join(f"<th>{head}</th>" for head in heads))]
    for place, one in enumerate(candidates):
        bar = 100 * (one["mean_seconds"] or 0.0) / most
        name = escape(one["name"])
        if one["name"] == document["fastest"]:
            name = f"<b>{name}</b>"
        cells = [
            f"<td title='{escape(one['text'])}'>{name}</td>",
            f"<td class=n>{duration(one['mean_seconds'])}</td>",
            f"<td><div class=bar><i style=width:{bar:.1f}%></i></div></td>",
            f"<td class='n faint'>{duration(one['deviation_seconds'])}</td>",
            f"<td class=n>{duration(one['best_seconds'])}</td>",
        ]
        if len(candidates) > 1:
            cells += _ratio_cells(ratios.get(one["name"]), place == 0)
        parts.append("<tr>{}</tr>".format("".join(cells)))
    parts.append("</table>")
    said = _sentences(benchmark)
    parts += [f"<p>{escape(line)}</p>" for line in said]
    return "".join(parts), sum(1 + len(line) // 110 for line in said)


def _ratio_cells(row: Optional[Dict[str, Any]], is_first: bool) -> List[str]:
    if is_first:
        return ["<td class=n>1</td>", "<td></td>"]
    if row is None or row["ratio"] is None:
        return ["<td></td>", "<td class=faint>too few runs</td>"]
    weight = "" if row["differs"] else " faint"
    return [
        f"<td class='n{weight}'>{row['ratio']:.3f}</td>",
        f"<td class='n{weight}'>{row['ratio_low']:.3f}–{row['ratio_high']:.3f}</td>",
    ]


def _sentences(benchmark: Benchmark) -> List[str]:
    """The sentences below the table."""
    _, _, below = str(benchmark).partition("\n\n")
    return [line for line in below.split("\n") if line.strip()]
