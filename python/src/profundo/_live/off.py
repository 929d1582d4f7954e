"""``PROFUNDO=0``: nothing is recorded, and it costs next to nothing."""

from __future__ import annotations

import os

from .options import Options
from .region import Region

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Optional, TypeVar

    F = TypeVar("F", bound=Callable[..., Any])

#: Whether the environment turns everything off. It is read once.
IS_OFF = os.environ.get("PROFUNDO") == "0"

_SENTENCE = "PROFUNDO=0 is in the environment, so nothing was recorded.\n"


class Off(Region):
    """A region in which nothing is recorded. It has no rows, and saves nothing."""

    def __enter__(self) -> Region:
        return self

    def __exit__(self, *_: Any) -> None:
        pass

    def __call__(self, function: F) -> F:
        """The function itself."""
        return function

    @property
    def _nothing(self) -> Optional[str]:
        return _SENTENCE


_REGION = Off("off", Options())


def region() -> Region:
    """The one region where all is off."""
    return _REGION
