"""The page of ``profundo view``: in the browser, as the cell of a notebook, or as a file."""

from __future__ import annotations

import os
import sys
from typing import Any, Dict, List, Optional, Sequence

from . import _binary, _command
from ._error import Error
from ._page import framed

#: The height of the page in a cell, in pixels.
_HEIGHT = 720


class View:
    """A page that shows recordings. A notebook shows it in its cell."""

    def __init__(self, paths: Sequence[str], kept: object = None) -> None:
        self._paths = list(paths)
        # What goes with the recordings' files, if they are made for this alone.
        self._kept = kept
        self._url: Optional[str] = None

    @property
    def url(self) -> Optional[str]:
        """The address of the page; ``None`` until it was opened."""
        return self._url

    def open(self) -> str:
        """Serve the page, open it in a browser where there is a display, and return its address.

        The server goes on by itself until the page has been closed for a minute.
        """
        import subprocess

        words = [_binary.find(), "view", "--", *self._paths]
        server = subprocess.Popen(
            words,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        assert server.stdout is not None and server.stderr is not None
        self._url = server.stdout.readline().decode().strip() or None
        if self._url is None:
            said = server.stderr.read().decode("utf-8", "replace")
            code = server.wait()
            raise Error(_command.sentence(said, code), code, tuple(words))
        server.stdout.close()
        # It is not waited for, on purpose.
        server.returncode = 0
        return self._url

    def save(self, path: Any, **options: Any) -> None:
        """Write the page to a file that needs no server.

        Args:
            path: The file.
            options: Those of ``profundo view -o``: ``max_page_size="1M"``, ``confidential="*.cfg"``.
        """
        words: List[object] = ["view", *self._paths, "-o", os.fspath(path)]
        _command.run(words + list(_command.spelled(options)))

    def html(self) -> str:
        """The page as text, at most 900 kB."""
        return _command.text(["view", *self._paths, "-o", "-", "--embed"], (0,))

    def __repr__(self) -> str:
        where = self._url or " ".join(self._paths)
        return f"<View: {where}>"

    def _repr_mimebundle_(
        self, include: Optional[Sequence[str]] = None, exclude: Optional[Sequence[str]] = None
    ) -> Dict[str, str]:
        return {"text/plain": repr(self), "text/html": framed(self.html(), _HEIGHT)}


def shown(view: View) -> View:
    """The page, opened unless a notebook will show it."""
    if "ipykernel" not in sys.modules:
        view.open()
    return view
