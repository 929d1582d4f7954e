"""What the stand-ins share."""

from __future__ import annotations

from .._live import off
from .._live.sampler import SAMPLER

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, List


def is_recorded_or_off() -> bool:
    """Whether decorators have nothing to do: the whole program is recorded, or nothing shall be."""
    return off.IS_OFF or SAMPLER.outer() is not None


class Decorated:
    """The functions that were decorated, each with its line profile."""

    def __init__(self) -> None:
        self.profiles: List[Any] = []

    def add(self, function: Any) -> Any:
        """The function, whose lines are of interest from now on."""
        from .._live.lines import lines

        if is_recorded_or_off():
            return function
        try:
            decorated = lines(function)
        except TypeError:
            return function
        profile = getattr(decorated, "profile", None)
        if profile is not None:
            self.profiles.append(profile)
        return decorated

    def print(self, write: Callable[[str], Any]) -> None:
        """Print the tables of all that was called."""
        for profile in self.profiles:
            if profile.count:
                write(profile.report() + "\n")
