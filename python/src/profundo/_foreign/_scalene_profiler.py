"""What programs use of scalene.scalene_profiler: ``start``, ``stop``, ``enable_profiling``."""

from __future__ import annotations

from contextlib import contextmanager

from .._live import switch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Iterator, Optional


class Scalene:
    """The class that holds scalene's functions."""

    _is_started = False
    #: The profile of what was recorded last.
    last: Optional[Any] = None

    @classmethod
    def start(cls) -> None:
        """Begin to record."""
        if not cls._is_started:
            switch.start("scalene")
        cls._is_started = True

    @classmethod
    def stop(cls) -> None:
        """Record no longer."""
        if cls._is_started:
            cls.last = switch.stop()
        cls._is_started = False


start = Scalene.start
stop = Scalene.stop


@contextmanager
def enable_profiling() -> Iterator[None]:
    """Record a ``with``."""
    start()
    try:
        yield
    finally:
        stop()
