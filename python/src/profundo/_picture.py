"""A picture, and how a notebook shows it: it can be clicked through as in a browser."""

from __future__ import annotations

import base64
import gzip
import os
from html import escape, unescape
from typing import Any, Callable, Dict, Optional, Sequence

from ._framed import document, fits, framed

#: Narrower boxes are left out of a picture that is too large, in percent: the first that does.
_LEFT_OUT = (0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5)

#: The most height of a picture, in pixels.
_HEIGHT = 560

_POLICY = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; frame-src data:"
)

_STYLE = (
    "<style>:root{color-scheme:light dark}body{margin:0;font:13px/1.4 system-ui,sans-serif}"
    "iframe{width:100%;border:0}p{margin:4px 8px;opacity:.7}</style>"
)

# The picture has a frame of its own, so that its styles and keys are its own too.
_SCRIPT = """
(async () => {
  const find = (id) => document.getElementById(id);
  const frame = find('picture'), why = find('why');
  try {
    const packed = Uint8Array.from(atob(find('packed').textContent), (c) => c.charCodeAt(0));
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream('gzip'));
    const text = await new Response(stream).text();
    frame.src = 'data:image/svg+xml;charset=utf-8,' + encodeURIComponent(text);
    why.remove();
  } catch (error) {
    frame.remove();
    why.textContent = 'This browser cannot unpack the picture (' + error + '). '
      + 'save("x.svg") writes it to a file.';
  }
})();
"""


class Picture:
    """A picture as the text of an SVG file, which a notebook shows.

    Args:
        svg: The text of the file.
        again: Draws it without boxes that are narrower than so many percent.
    """

    def __init__(self, svg: str, again: Optional[Callable[[float], str]] = None) -> None:
        #: The text of the file.
        self.svg = svg
        self._again = again

    @property
    def title(self) -> str:
        """Its title."""
        return unescape(self.svg.partition("<title>")[2].partition("</title>")[0])

    def save(self, path: Any) -> None:
        """Write it to a file."""
        with open(os.fspath(path), "w", encoding="utf-8") as file:
            file.write(self.svg)

    def __repr__(self) -> str:
        return f"<Picture: {self.title}>"

    def _repr_mimebundle_(
        self, include: Optional[Sequence[str]] = None, exclude: Optional[Sequence[str]] = None
    ) -> Dict[str, str]:
        return {"text/plain": repr(self), "text/html": self._framed()}

    def _framed(self) -> str:
        """The picture as the text of an ``iframe``, with less in it where it is too large."""
        text = _page(self.title, self.svg, "")
        for percent in _LEFT_OUT if self._again is not None else ():
            if fits(text):
                return text
            note = (
                f"Boxes narrower than {percent:g} % of the width are left out here; "
                'save("x.svg") writes more.'
            )
            text = _page(self.title, self._again(percent), note)  # type: ignore[misc]
        if fits(text):
            return text
        note = 'The picture is too large for a notebook; save("x.svg") writes it to a file.'
        return framed(document(self.title, _STYLE, f"<p>{escape(note)}</p>", _POLICY), 40)


def _page(title: str, svg: str, note: str) -> str:
    """A page with the picture, in a frame."""
    packed = base64.b64encode(gzip.compress(svg.encode("utf-8", "replace"), 9)).decode("ascii")
    height = min(_height_of(svg) + 4, _HEIGHT)
    body = (
        f"<iframe id=picture sandbox=allow-scripts style=height:{height}px title=picture></iframe>"
        "<p id=why>The picture is shown where scripts may run.</p>"
        + (f"<p>{escape(note)}</p>" if note else "")
        + f'<script type="text/plain" id=packed>{packed}</script><script>{_SCRIPT}</script>'
    )
    return framed(document(title, _STYLE, body, _POLICY), height + (34 if note else 8))


def _height_of(svg: str) -> int:
    """The height that a picture states."""
    head = svg[: svg.find(">", svg.find("<svg"))]
    _, _, rest = head.partition(' height="')
    digits = rest.split('"', 1)[0].split(".")[0]
    return int(digits) if digits.isdigit() else 400
