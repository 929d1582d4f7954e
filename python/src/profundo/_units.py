"""Numbers with their units, as all of Profundo writes them: three digits.

The command writes them by the same rules (`page/units.rs` of its reports).
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Optional, Sequence, Tuple

_TIMES = ((1e-9, "ns"), (1e-6, "µs"), (1e-3, "ms"), (1.0, "s"))
_SIZES = ((1e3, "kB"), (1e6, "MB"), (1e9, "GB"), (1e12, "TB"), (1e15, "PB"), (1e18, "EB"))


def duration(seconds: Optional[float]) -> str:
    """A time; nothing for none."""
    if seconds is None:
        return ""
    if seconds < 0:
        return "-" + duration(-seconds)
    if seconds < 5e-12:
        return "0 s"
    if seconds < 59.5:
        return _in_units(seconds, _TIMES)
    whole = int(seconds + 0.5)
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02} s"
    minutes = (whole + 30) // 60
    return f"{minutes // 60} h {minutes % 60:02} min"


def size(number: Optional[float]) -> str:
    """An amount of bytes; nothing for none."""
    if number is None:
        return ""
    if number < 0:
        return "-" + size(-number)
    if number < 999.5:
        return f"{number:.0f} B"
    return _in_units(number, _SIZES)


def _in_units(value: float, units: Sequence[Tuple[float, str]]) -> str:
    """A number in the first unit in which it has at most three digits before the point."""
    for scale, unit in units:
        if value / scale < 999.5:
            break
    return f"{_digits(value / scale)} {unit}"


def _digits(value: float) -> str:
    if value >= 99.95:
        return f"{value:.0f}"
    return f"{value:.1f}" if value >= 9.995 else f"{value:.2f}"
