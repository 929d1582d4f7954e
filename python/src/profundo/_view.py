"""The page of ``profundo view``: in the browser, as the cell of a notebook, or as a file."""

from __future__ import annotations

import os
import sys
from html import escape
from typing import Any, Dict, List, Optional, Sequence

from . import _binary, _command
from ._error import Error
from ._framed import framed

#: The height of the page in a cell, in pixels.
HEIGHT = 720


class View:
    """A page that shows recordings. A notebook shows it in its cell.

    Args:
        paths: The recordings. Where two sets are compared, `--` stands between them.
        kept: What goes with their files, if they are made for this alone.
        title: What the page is called, in place of the command.
        place: Where it begins: the name of a view, perhaps with values, as in its address.
    """

    def __init__(
        self, paths: Sequence[str], kept: object = None, title: str = "", place: str = ""
    ) -> None:
        self._paths = list(paths)
        self._title = title
        self._place = place
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
        import tempfile

        words = [_binary.find(), "view", *self._words()]
        # What it says later has nobody to read it, and must not block it.
        with tempfile.TemporaryFile() as said:
            server = subprocess.Popen(
                words,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=said,
                start_new_session=True,
            )
            assert server.stdout is not None
            with server.stdout:
                self._url = server.stdout.readline().decode().strip() or None
            if self._url is None:
                code = server.wait()
                said.seek(0)
                text = said.read().decode("utf-8", "replace")
                raise Error(_command.sentence(text, code), code, tuple(words))
        # It is not waited for, on purpose.
        server.returncode = 0
        return self._url

    def save(self, path: Any, **options: Any) -> None:
        """Write the page to a file that needs no server.

        Args:
            path: The file.
            options: Those of ``profundo view -o``: ``max_page_size="1M"``, ``confidential="*.cfg"``.
        """
        words: List[object] = ["view", "-o", os.fspath(path), *_command.spelled(options)]
        _command.run(words + list(self._words()))

    def html(self) -> str:
        """The page as text, at most 900 kB."""
        page = _command.text(["view", "-o", "-", "--embed", *self._words()], (0,))
        told = "".join(
            f'<meta name="profundo-{name}" content="{escape(value)}">'
            for name, value in (("title", self._title), ("place", self._place))
            if value
        )
        return page.replace("<title>", told + "<title>", 1)

    def framed(self, height: int = HEIGHT, text: str = "") -> str:
        """The page as HTML for a cell of a notebook, and a text for one that is not trusted."""
        return framed(self.html(), height, text or repr(self))

    def _words(self) -> List[str]:
        """The paths as words, behind all options."""
        return self._paths if "--" in self._paths else ["--", *self._paths]

    def __repr__(self) -> str:
        where = self._url or " ".join(self._paths)
        return f"<View: {where}>"

    def _repr_mimebundle_(
        self, include: Optional[Sequence[str]] = None, exclude: Optional[Sequence[str]] = None
    ) -> Dict[str, str]:
        return {"text/plain": repr(self), "text/html": self.framed()}


def shown(view: View) -> View:
    """The page, opened unless a notebook will show it."""
    if "ipykernel" not in sys.modules:
        view.open()
    return view
