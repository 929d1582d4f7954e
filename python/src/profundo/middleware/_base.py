"""What the middlewares share: their options, and how a request becomes a region."""

from __future__ import annotations

import os
from typing import Any, Callable, Dict, Optional, Union

from ._answer import Seen

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
        self.when = when
        self.directory = None if directory is None else os.path.abspath(directory)
        if not ending.startswith("."):
            raise ValueError(f'ending is that of a file, as ".html", and not {ending!r}')
        self.ending = ending
        self.options = options
        # Wrong options are said when the server starts, and not at the first request.
        self.region("request")

    def region(self, name: str) -> Any:
        """A region for one request, of which this task or thread is a part."""
        import profundo

        return profundo.profile(name, **self.options)


def name_of(seen: Seen) -> str:
    """The name of a request's region."""
    return f"{seen.method} {seen.path}"
