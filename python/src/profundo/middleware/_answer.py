"""The profile of a request as an answer, or as a file in a folder."""

from __future__ import annotations

import json
import os
import tempfile
import time
from html import escape
from typing import Any, Dict, List, Optional, Tuple

from .._error import Error

#: The media type of each form.
TYPES = {
    "html": "text/html; charset=utf-8",
    "json": "application/json",
    "speedscope": "application/json",
    "text": "text/plain; charset=utf-8",
}

#: The endings of files for which the package has a writer of its own.
_OWN = {".html": "html", ".json": "json", ".txt": "text"}


class Seen:
    """What is known of a request and of the application's answer to it."""

    def __init__(self, method: str, path: str) -> None:
        self.method = method
        self.path = path
        #: The status of the application's answer, and the bytes of its body.
        self.status: Optional[int] = None
        self.size = 0
        self._began = time.perf_counter()
        self.seconds = 0.0

    def end(self) -> None:
        """The application has answered."""
        self.seconds = time.perf_counter() - self._began

    @property
    def has_failed(self) -> bool:
        """Whether the answer says that the application has failed."""
        return self.status is not None and self.status >= 500

    def __str__(self) -> str:
        answer = f"answered {self.status or 'nothing'}, {self.size} bytes"
        return f"{self.method} {self.path}: {answer}, after {1000 * self.seconds:.1f} ms"


class Answer:
    """An answer of HTTP in place of the application's."""

    def __init__(self, status: int, kind: str, body: bytes) -> None:
        self.status = status
        self.body = body
        # A profile is of one moment, and nobody else's.
        self.headers: List[Tuple[str, str]] = [
            ("Content-Type", kind),
            ("Content-Length", str(len(body))),
            ("Cache-Control", "no-store"),
            ("X-Content-Type-Options", "nosniff"),
        ]


def answer(profile: Any, form: str, seen: Seen) -> Answer:
    """The answer that has a profile, or that says why there is none."""
    try:
        return Answer(200, TYPES[form], written(profile, form, seen))
    except Error as error:
        text = f"{seen}\n\nThere is no profile of this request: {error}\n"
        return Answer(500, TYPES["text"], text.encode())


def written(profile: Any, form: str, seen: Seen) -> bytes:
    """A profile in one of the forms.

    Raises:
        Error: There is none.
    """
    if profile.error is not None:
        raise profile.error
    if form == "text":
        text = f"{seen}\n\n{profile.report(width=120)}"
    elif form == "json":
        document: Dict[str, Any] = profile.json()
        text = json.dumps(dict(document, request=_members(seen)))
    elif form == "speedscope":
        return _exported(profile, ".speedscope.json")
    else:
        text = _page(profile, seen)
    return text.encode("utf-8", "replace")


def keep(profile: Any, directory: str, ending: str, seen: Seen) -> None:
    """Write the profile into a file of a folder, whose name begins with the time and the path.

    A failure is a warning of the logger ``profundo``: the request has its answer by now.
    """
    try:
        os.makedirs(directory, exist_ok=True)
        moment = time.strftime("%Y%m%d-%H%M%S")
        start = f"{moment}-{seen.method}{_plain(seen.path)}-{1000 * seen.seconds:.0f}ms-"
        number, path = tempfile.mkstemp(prefix=start, suffix=ending, dir=directory)
        os.close(number)
        try:
            _write(profile, path, ending, seen)
        except BaseException:
            os.remove(path)
            raise
    except (Error, OSError) as error:
        import logging

        logging.getLogger("profundo").warning("no profile of %s: %s", seen, error)


def _write(profile: Any, path: str, ending: str, seen: Seen) -> None:
    if profile.error is not None:
        raise profile.error
    if ending in _OWN:
        with open(path, "wb") as file:
            file.write(written(profile, _OWN[ending], seen))
    else:
        profile.save(path, force=True)


def _exported(profile: Any, ending: str) -> bytes:
    with tempfile.TemporaryDirectory(prefix="profundo-") as folder:
        path = os.path.join(folder, "request" + ending)
        profile.save(path)
        with open(path, "rb") as file:
            return file.read()


def _page(profile: Any, seen: Seen) -> str:
    """What a notebook shows of a profile, as a page of its own."""
    shown = profile._repr_mimebundle_()
    # Without a sample there is no page.
    inner = shown.get("text/html") or f"<pre>{escape(shown['text/plain'])}</pre>"
    return (
        '<!doctype html><html lang=en><head><meta charset="utf-8">'
        f"<title>{escape(seen.method)} {escape(seen.path)} – Profundo</title>"
        "<style>:root{color-scheme:light dark}html,body{margin:0;height:100%}"
        "body{display:flex;flex-direction:column;font:13px/1.4 ui-sans-serif,system-ui,sans-serif}"
        "p{margin:8px}iframe{flex:1}</style></head>"
        f"<body><p>{escape(str(seen))}</p>{inner}</body></html>"
    )


def _members(seen: Seen) -> Dict[str, Any]:
    return {
        "method": seen.method,
        "path": seen.path,
        "status": seen.status,
        "body_bytes": seen.size,
        "seconds": seen.seconds,
    }


def _plain(path: str) -> str:
    """The path of a request, as a part of a file's name."""
    plain = "".join(one if one.isalnum() and one.isascii() else "-" for one in path[:60])
    return plain.rstrip("-")
