"""``start`` and ``stop``: a region that begins here and ends there."""

from __future__ import annotations

from .._error import Error
from . import off
from .config import defaults
from .region import Region
from .sampler import SAMPLER

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, List, Optional, Tuple

    from .._profile import Path
    from .region import Entry

#: What was started and not stopped yet, with what ends it.
_started: List[Tuple[Region, Entry]] = []


def start(
    name: Optional[str] = None,
    *,
    output: Optional[Path] = None,
    threads: bool = True,
    **options: Any,
) -> Region:
    """Begin to record this process: all its threads, until :func:`stop`.

    Args:
        name: What the region is called in reports.
        output: A file, written when the process ends, in the format of its name. The environment
            can name one in ``PROFUNDO_OUTPUT``.
        threads: ``False`` for this thread or task alone.
        options: Those of :func:`profile`.
    """
    if off.IS_OFF:
        return off.region()
    region = Region(name, defaults().over(options), threads=threads, output=output)
    _started.append((region, region._enter()))
    return region


def stop() -> Region:
    """End what :func:`start` began last. Its profile is the result.

    Raises:
        Error: Nothing was started.
    """
    if off.IS_OFF:
        return off.region()
    if not _started:
        raise Error("there is nothing to stop: profundo.start() begins a recording")
    region, entry = _started.pop()
    region._leave(entry)
    return region


def pause() -> None:
    """Take no samples until :func:`resume`, whatever regions are open."""
    SAMPLER.pause()


def resume() -> None:
    """Take samples again while a region is open."""
    SAMPLER.resume()


def is_running() -> bool:
    """Whether samples are taken now: a region is open, and nothing is paused."""
    return SAMPLER.is_running
