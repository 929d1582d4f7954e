"""What a notebook shows: a flame graph, and the hot lines with their source."""

from __future__ import annotations

import os
import re
from html import escape
from typing import TYPE_CHECKING, Any, Dict, List, Optional, Sequence

from ._error import Error
from ._page import Drawn, document, height_of, iframe
from ._units import duration

if TYPE_CHECKING:
    from ._profile import Profile
    from ._rows import Function, Line, Share

#: The most lines of the table, and the most characters of each.
_ROWS = 100
_WIDTH = 160

#: The parts of a share, with their classes in the page.
_KINDS = (("python", "py"), ("native", "nat"), ("system", "sys"), ("waiting", "wait"))


class Picture:
    """A picture as the text of an SVG file, which a notebook shows."""

    def __init__(self, svg: str, drawn: Optional[Drawn] = None) -> None:
        #: The text of the file.
        self.svg = svg
        self._drawn = Drawn(svg) if drawn is None else drawn

    @property
    def title(self) -> str:
        """Its title."""
        from html import unescape

        return unescape(self.svg.partition("<title>")[2].partition("</title>")[0])

    def save(self, path: Any) -> None:
        """Write it to a file."""
        with open(os.fspath(path), "w", encoding="utf-8") as file:
            file.write(self.svg)

    def __repr__(self) -> str:
        return f"<Picture: {self.title}>"

    def _repr_mimebundle_(
        self, include: Optional[Sequence[str]] = None, exclude: Optional[Sequence[str]] = None
    ) -> Dict[str, str]:
        height = min(height_of(self.svg), 560) + 50
        return {
            "text/plain": repr(self),
            "text/html": iframe(self.title, "", self._drawn, "", height),
        }


def plain_bundle(text: str, picture: Picture) -> Dict[str, str]:
    """A text, and a picture above it."""
    below = f"<pre>{escape(text)}</pre>"
    height = min(height_of(picture.svg), 560) + 250
    return {
        "text/plain": text,
        "text/html": iframe(picture.title, "", picture._drawn, below, height),
    }


def bundle(profile: Profile, note: Optional[str] = None) -> Dict[str, str]:
    """A profile as its first screen, and as a page.

    Args:
        note: What stands in the picture's head in place of the filter.
    """
    drawn = flame_of(profile, note=note)
    below = _below(profile)
    height = 640 if drawn is None else min(height_of(drawn.svg), 560) + 330
    title = profile.command or os.path.basename(profile.path)
    return {
        "text/plain": profile.report(width=120),
        "text/html": iframe(title, head(profile, title), drawn, below, height),
    }


def _below(profile: Profile) -> str:
    """The lines, or what was counted instead."""
    if profile._head()["recording"]["measures"] == "traced":
        return table_of_calls(profile.functions)
    lines = profile.lines
    if not lines and profile._default == "exceptions":
        return f"<pre>{escape(profile.report(width=110))}</pre>"
    return table(lines)


def page(profile: Profile, note: Optional[str] = None) -> str:
    """A profile as a page in a file: its flame graph, and the hot lines.

    Args:
        note: What stands in the picture's head in place of the filter.
    """
    title = profile.command or os.path.basename(profile.path)
    drawn = flame_of(profile, note=note)
    return document(title, head(profile, title), drawn, _below(profile))


def flame_of(
    profile: Profile, title: Optional[str] = None, note: Optional[str] = None
) -> Optional[Drawn]:
    """The flame graph; ``None`` of a recording that has no stacks, as one of counted lines.

    Args:
        profile: The profile.
        title: Its title, in place of the command line.
        note: What stands in its head in place of the filter.
    """
    try:
        drawn = profile.flame(**({} if title is None else {"title": title}))._drawn
    except Error:
        return None
    again = drawn.again
    if note is None or again is None:
        return drawn
    return Drawn(_noted(drawn.svg, note), lambda percent: _noted(again(percent), note))


#: The filter in the head of a picture, which takes several lines.
_FILTER = re.compile(r'(<tspan x="\d+" y="\d+">)Only what passes the filter.*?</tspan></text>')


def _noted(svg: str, note: str) -> str:
    return _FILTER.sub(lambda found: f"{found.group(1)}{escape(note)}</tspan></text>", svg, 1)


def head(profile: Profile, title: str) -> str:
    """The verdict, and the quality of the recording."""
    # The verdict is about time.
    verdict = title
    if profile._default in ("summary", "trace"):
        verdict = profile._head().get("verdict") or title
    lines = str(profile.quality).split("\n")
    parts = [f"<h1>{escape(verdict)}</h1>"]
    if verdict != title:
        parts.append(f"<p class=faint>{escape(title)}</p>")
    parts += [f"<p class=faint>{escape(line)}</p>" for line in lines]
    return "".join(parts)


def table(lines: List[Line], title: Optional[str] = None) -> str:
    """The hot lines with their source, as HTML."""
    if not lines:
        return "<p class=faint>No line of source has time of its own.</p>"
    are_counted = lines[0].hits is not None
    unit = _unit(lines[0])
    columns = ["Hits"] if are_counted else ["Share", "", "95 %"]
    columns += ["Time" if unit == "seconds" else unit.capitalize(), "Line", "Source"]
    parts = [f"<h2>{escape(title or _title(lines, are_counted))}</h2>"]
    if not are_counted:
        named = (("py", "Python"), ("nat", "native"), ("sys", "system"), ("wait", "waiting"))
        keys = "".join(f"<i class={kind}></i>{name}" for kind, name in named)
        parts.append(f"<p class='faint key'>{keys}</p>")
    parts.append("<table><tr>{}</tr>".format("".join(f"<th>{name}</th>" for name in columns)))
    names = _short_names(lines)
    for line in lines[:_ROWS]:
        cells = _counted(line) if are_counted else _sampled(line)
        cells.append("<td class=n>{}</td>".format(_amount(getattr(line, "self_" + unit), unit)))
        cells.append(f"<td>{escape(names[line.file])}:{line.line}</td>")
        cells.append("<td>{}</td>".format(escape(cut(line.text or ""))))
        parts.append("<tr title='{}'>{}</tr>".format(escape(line.function or ""), "".join(cells)))
    parts.append("</table>")
    return "".join(parts)


def table_of_calls(functions: List[Function], title: Optional[str] = None) -> str:
    """The functions whose calls were counted, as HTML."""
    if not functions:
        return "<p class=faint>No function was called.</p>"
    columns = ("Calls", "Time", "With callees", "Per call", "Line", "Function")
    title = title or "Functions that took the most time"
    if len(functions) > _ROWS:
        title += f": {_ROWS} of {len(functions)}"
    parts = [f"<h2>{escape(title)}</h2><table>"]
    parts.append("<tr>{}</tr>".format("".join(f"<th>{name}</th>" for name in columns)))
    for one in functions[:_ROWS]:
        calls = (one.calls or 0) + (one.resumes or 0)
        each = one.total_seconds / calls if calls and one.total_seconds is not None else None
        place = ""
        if one.file and one.line:
            place = f"{one.cell or os.path.basename(one.file)}:{one.line}"
        cells = [f"<td class=n>{one.calls or 0:,}</td>"]
        for seconds in (one.self_seconds, one.total_seconds, each):
            cells.append(f"<td class=n>{duration(seconds)}</td>")
        cells += [f"<td>{escape(place)}</td>", f"<td>{escape(one.function or '')}</td>"]
        parts.append("<tr>{}</tr>".format("".join(cells)))
    parts.append("</table>")
    return "".join(parts)


def _title(lines: List[Line], are_counted: bool) -> str:
    what = "Lines that took the most time" if are_counted else "Hottest lines"
    if len(lines) > _ROWS:
        return f"{what}: {_ROWS} of {len(lines)}"
    return what


def _counted(line: Line) -> List[str]:
    return [f"<td class=n>{line.hits or 0:,}</td>"]


def _sampled(line: Line) -> List[str]:
    share: Share = line.self_share  # type: ignore[assignment]
    parts = [(getattr(line, f"self_{kind}_share") or 0.0, name) for kind, name in _KINDS]
    if not any(part for part, _ in parts):
        parts = [(float(share), "all")]
    bar = "".join(
        f"<i class={name} style=width:{100 * part:.1f}%></i>" for part, name in parts if part
    )
    interval = ""
    if share.low is not None and share.high is not None:
        interval = f"{100 * share.low:.1f}–{100 * share.high:.1f}"
    return [
        f"<td class=n>{100 * share:.1f} %</td>",
        f"<td><div class=bar>{bar}</div></td>",
        f"<td class='n faint'>{interval}</td>",
    ]


def _unit(line: Line) -> str:
    for unit in ("bytes", "blocks", "copies"):
        if getattr(line, "self_" + unit) is not None:
            return unit
    return "seconds"


def _amount(value: Optional[float], unit: str) -> str:
    if value is None:
        return ""
    if unit == "seconds":
        return duration(value)
    return f"{value:,.0f}" if value >= 1000 else f"{value:.4g}"



def _short_names(lines: Sequence[Line]) -> Dict[Optional[str], str]:
    """Names of files, with folders where two files have one name."""
    files = {line.file for line in lines}
    cells = {line.file: line.cell for line in lines if line.cell}
    bases = [os.path.basename(file or "") for file in files]
    return {
        file: cells[file]
        if file in cells
        else file
        if file and bases.count(os.path.basename(file)) > 1
        else os.path.basename(file or "?")
        for file in files
    }


def cut(text: str) -> str:
    """A line of source, no longer than a page is wide."""
    return text if len(text) <= _WIDTH else text[: _WIDTH - 1] + "…"
