"""What has changed between two recordings, or between two sets of runs."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Dict, List, Mapping, Optional, Sequence, Tuple, Union

from . import _command, _export
from ._picture import Picture
from ._profile import file_of

if TYPE_CHECKING:
    from ._profile import Path, Profile
    from ._view import View

    Side = Union[Profile, Path, Sequence[Union[Profile, Path]]]

#: The exit code where something has grown beyond `fail_above`.
_FAILED = 3

#: Options that a picture does not have, as none.
_OF_TABLES = {"by": None, "limit": None, "width": None}


def diff(before: Side, after: Side, **options: Any) -> Diff:
    """Compare two recordings, or two sets of runs.

    Args:
        before: A profile, a region or a path; or a list of them, several runs of the same.
        after: The same of the other side.
        options: Those of ``profundo diff``: ``by="line"``, ``per="calls"``, ``fail_above="5%"``,
            ``limit=50``, and the filters of reports.

    Raises:
        Error: They measure different things, or cannot be read.
    """
    files = _files(before), _files(after)
    sides = [[path for path, _ in side] for side in files]
    if len(sides[0]) == len(sides[1]) == 1:
        words = sides[0] + sides[1]
    else:
        words = sides[0] + ["--"] + sides[1]
    if isinstance(options.get("by"), (list, tuple)):
        options["by"] = ",".join(options["by"])
    result = Diff(words, options)
    result._kept = files
    result.json()
    return result


def _files(side: Side) -> List[Tuple[str, Any]]:
    """Paths, and what keeps the files."""
    if isinstance(side, (list, tuple)):
        return [file_of(one) for one in side]
    return [file_of(side)]  # type: ignore[arg-type]


@dataclass(frozen=True)
class Change:
    """An amount on both sides, and how sure its change is."""

    #: The amounts, on the scale of the report.
    before: float
    after: float
    #: After less before, with its 95 % interval.
    change: float
    change_low: float
    change_high: float
    #: The chance of such a change where there is none.
    p: float
    #: Whether it has changed by more than chance.
    changed: bool

    @property
    def ratio(self) -> Optional[float]:
        """After as a multiple of before; ``None`` where there was nothing before."""
        return self.after / self.before if self.before else None


@dataclass(frozen=True)
class DiffRow:
    """What has changed of a function, a line, or another row."""

    #: What the rows are: ``function``, ``line`` …
    by: str
    #: Of what the amounts are: ``seconds``, ``bytes``, ``calls`` …
    unit: str
    #: The name of the row.
    name: str
    #: ``same``, ``new``, ``gone``, ``moved``, ``edited`` or ``renamed``.
    what: str
    #: The file and line on each side; ``None`` where the row is not there.
    place_before: Optional[Tuple[Optional[str], Optional[int]]]
    place_after: Optional[Tuple[Optional[str], Optional[int]]]
    #: The text of a line.
    text: Optional[str]
    #: Its own amounts, and those with all that it calls.
    own: Change
    total: Change


class Diff:
    """A comparison. ``print(diff)`` shows the report: a verdict, and the rows that have changed."""

    def __init__(self, words: Sequence[str], options: Dict[str, Any]) -> None:
        self._words = list(words)
        self._options = dict(options)
        self._document: Optional[Dict[str, Any]] = None
        # Keeps the files of profiles that are temporary.
        self._kept: Any = None

    @property
    def verdict(self) -> str:
        """How the whole has changed, in a sentence."""
        return self.json()["verdict"]

    @property
    def whole(self) -> Change:
        """How the whole has changed."""
        return _change(self.json()["whole"])

    @property
    def failed(self) -> bool:
        """Whether something has grown beyond ``fail_above`` and beyond chance."""
        return self.json()["failed"]

    @property
    def rows(self) -> List[DiffRow]:
        """The rows that have changed by more than chance, table by table."""
        return [_row(table, row) for table in self.json()["tables"] for row in table["rows"]]

    def json(self) -> Dict[str, Any]:
        """The document that ``profundo diff --json`` prints."""
        if self._document is None:
            self._document = _command.document(self._line(), (0, _FAILED, _command.NOTHING_PASSES))
        return self._document

    def report(self, **options: Any) -> str:
        """The report as text, 120 columns wide unless ``width`` says otherwise."""
        options.setdefault("width", 120)
        return _command.text(self._line(options), (0, _FAILED, _command.NOTHING_PASSES))

    def __str__(self) -> str:
        return self.report()

    def __repr__(self) -> str:
        return "Diff({})".format(" ".join(self._words))

    def flame(self, **options: Any) -> Picture:
        """The difference as a flame graph: red has grown, blue has shrunk, grey may be chance."""
        words = self._line(dict(options, **_OF_TABLES), ["--output=-"])
        return Picture(_command.text(words, (0, _FAILED)))

    def view(self) -> View:
        """The page of ``profundo view BEFORE AFTER``, or of two sets of runs."""
        from ._view import View, shown

        return shown(View(self._words, self))

    def save(self, path: Path, **options: Any) -> None:
        """Write the flame graph of the difference to an SVG file."""
        path = os.fspath(path)
        _export.format_of(path, None if path.endswith(".svg") else "svg")
        _command.run(self._line(dict(options, **_OF_TABLES), ["--output=" + path]), (0, _FAILED))

    def _repr_mimebundle_(
        self, include: Optional[Sequence[str]] = None, exclude: Optional[Sequence[str]] = None
    ) -> Dict[str, str]:
        from ._view import View

        text = self.report()
        return {"text/plain": text, "text/html": View(self._words, self).framed(text=text)}

    def _line(
        self, options: Optional[Dict[str, Any]] = None, more: Sequence[str] = ()
    ) -> List[str]:
        """The words of the command: options stand before the files, because `--` divides these."""
        spelled = _command.spelled(dict(self._options, **(options or {})))
        return ["diff"] + spelled + list(more) + self._words


def _change(members: Mapping[str, Any], prefix: str = "") -> Change:
    names = ("before", "after", "change", "change_low", "change_high", "p", "changed")
    return Change(*(members[prefix + name] for name in names))


def _row(table: Mapping[str, Any], row: Mapping[str, Any]) -> DiffRow:
    return DiffRow(
        table["by"],
        table["unit"],
        row["name"],
        row["what"],
        _place(row["place_before"]),
        _place(row["place_after"]),
        row["text"],
        _change(row, "self_"),
        _change(row, "total_"),
    )


def _place(place: Optional[Mapping[str, Any]]) -> Optional[Tuple[Optional[str], Optional[int]]]:
    return None if place is None else (place["file"], place["line"])
