"""Rows as a table of pandas, which is imported only here."""

from __future__ import annotations

from dataclasses import fields
from typing import Any, Dict, List, Sequence

from ._rows import Share


def frame(rows: Sequence[Any], kind: type) -> Any:
    """A ``DataFrame`` with a column for each attribute; those that no row has are left out."""
    try:
        import pandas  # type: ignore[import-untyped]
    except ImportError:
        raise ImportError(
            "to_pandas() needs pandas, which is not installed: `pip install pandas`"
        ) from None
    columns: Dict[str, List[Any]] = {}
    for field in fields(kind):  # type: ignore[arg-type]
        values = [getattr(row, field.name) for row in rows]
        columns[field.name] = [
            float(value) if isinstance(value, Share) else value for value in values
        ]
        if field.name.endswith(("self_share", "total_share")):
            columns[field.name + "_low"] = [getattr(value, "low", None) for value in values]
            columns[field.name + "_high"] = [getattr(value, "high", None) for value in values]
    memory = ("_bytes", "_blocks", "_copies")
    absent = [
        name
        for name, values in columns.items()
        if (name.endswith(memory + ("_seconds",)) or name in ("hits", "calls", "resumes"))
        and all(value is None for value in values)
    ]
    for name in absent:
        if rows or name.endswith(memory):
            del columns[name]
    return pandas.DataFrame(columns)
