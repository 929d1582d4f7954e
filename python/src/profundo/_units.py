"""Numbers with their units, as all of Profundo writes them: three digits."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Optional


def duration(seconds: Optional[float]) -> str:
    """A time; nothing for none."""
    if seconds is None:
        return ""
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6), ("ns", 1e-9)):
        if seconds >= scale or unit == "ns":
            break
    value = seconds / scale
    return f"{value:.3g} {unit}" if value < 999.5 else f"{value:.0f} {unit}"


def size(value: Optional[float]) -> str:
    """An amount of bytes; nothing for none."""
    if not value:
        return ""
    for unit, scale in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3), ("B", 1.0)):
        if value >= scale:
            break
    return f"{value / scale:.3g} {unit}"
