"""What the middlewares share: their options, and how a request becomes a region."""

from __future__ import annotations

import os
from typing import Any, Callable, Dict, Optional, Union

#: A function that says whether a request is profiled.
When = Callable[[Any], Any]
Folder = Union[str, "os.PathLike[str]"]


class Wishes:
    """The options of a middleware.

    Args:
        when: Says whether a request is profiled.
        directory: A folder for profiles. Requests then have the application's answer.
        ending: The kind of the files there.
        options: Those of :func:`profundo.profile`.
    """

    def __init__(
        self, when: When, directory: Optional[Folder], ending: str, options: Dict[str, Any]
    ) -> None:
        from .._live import off

        self.when = _never if off.IS_OFF else when
        self.directory = None if directory is None else os.path.abspath(directory)
        if not ending.startswith("."):
            raise ValueError(f'ending is that of a file, as ".html", and not {ending!r}')
        self.ending = ending
        self.options = options
        # Wrong options are said when the server starts, and not at the first request.
        self.region()

    def region(self) -> Any:
        """A region for one request, of which this task or thread is a part.

        All have one name, because a recording tells only some thousand names apart.
        """
        import profundo

        return profundo.profile("request", **self.options)


def _never(_: Any) -> bool:
    """Where ``PROFUNDO=0`` turns everything off, no request asks."""
    return False
