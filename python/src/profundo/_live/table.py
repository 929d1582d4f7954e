"""The table of a function's lines, with its whole source."""

from __future__ import annotations

from .._units import duration

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import List, Sequence, Union

    from .._foreign._shared import FollowedLines
    from .lines import LineProfile

_COLUMNS = ("Line", "Hits", "Seconds", "Per hit", "Time %")


def of_lines(profile: Union[LineProfile, FollowedLines], source: Sequence[str]) -> str:
    """The table of a line profile."""
    rows = profile.lines
    by_line = {row.line: row for row in rows}
    seconds = [row.total_seconds or 0.0 for row in rows]
    # A sampled line has the time of what it calls: in a function that calls itself, that of its
    # own other lines, too.
    whole = sum(seconds) if profile.is_exact else max([sum(seconds)] + seconds)
    how = "counted" if profile.is_exact else "sampled"
    head = f"{profile.name}  {profile.file}:{profile.first}\n"
    if profile.count == 0 or profile.count is None and not rows:
        return head + "It has not been called.\n"
    calls = {None: "", 1: " in 1 call"}.get(profile.count, f" in {profile.count} calls")
    head += f"{duration(whole)}{calls}; lines are {how}, with what they call\n"
    if not rows:
        return head + "No sample was taken in it: it took too little time.\n"
    columns = [name for name in _COLUMNS if profile.is_exact or "it" not in name.lower()]
    table = [[name for name in columns] + ["Source"]]
    texts = list(source) or [""] * (max(by_line) - profile.first + 1)
    for number, text in enumerate(texts, profile.first):
        row = by_line.get(number)
        cells = [str(number)]
        if row is None:
            cells += [""] * (len(columns) - 1)
        else:
            taken = row.total_seconds or 0.0
            share = f"{100 * taken / whole:.1f}" if whole else ""
            if profile.is_exact:
                hits = row.hits or 0
                cells += [str(hits), f"{taken:.6f}", duration(taken / hits) if hits else ""]
            else:
                cells.append(f"{taken:.4f}")
            cells.append(share)
        table.append(cells + [text])
    return head + "\n" + _aligned(table)


def _aligned(table: List[List[str]]) -> str:
    widths = [max(len(row[index]) for row in table) for index in range(len(table[0]) - 1)]
    lines: List[str] = []
    for row in table:
        cells = [cell.rjust(width) for cell, width in zip(row, widths)]
        lines.append(("  ".join(cells) + "  " + row[-1]).rstrip())
    return "\n".join(lines) + "\n"
