"""A page for one cell of a notebook: a picture and a table in one HTML text.

Front ends drop outputs of more than 1 MB, strip styles, show no files and cannot reach this
machine. So the page stands in the ``srcdoc`` of an ``iframe`` that may run its own scripts and load
nothing, and the picture is compressed in it.
"""

from __future__ import annotations

import base64
import gzip
from html import escape
from typing import Callable, Optional

#: The most bytes of a whole page.
LIMIT = 900_000

#: Narrower boxes are left out of a picture that is too large, in percent: the first that does.
_LEFT_OUT = (0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5)

_POLICY = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
    "img-src data:; frame-src data:"
)

_STYLE = """
:root{color-scheme:light dark;
--back:#fff;--text:#1b1f24;--faint:#5f6872;--line:#d0d7de;--bar:#eef1f4;
--py:#568df0;--nat:#ffa917;--sys:#977fa0;--wait:#a8c4dc}
@media (prefers-color-scheme:dark){
:root{--back:#14181d;--text:#e6e8eb;--faint:#9aa2ab;--line:#3a4149;--bar:#262b31;
--py:#2f6ae0;--nat:#8e6f00;--sys:#bb4997;--wait:#5b6f82}}
body{margin:0;padding:8px;background:var(--back);color:var(--text);
font:13px/1.4 ui-sans-serif,system-ui,sans-serif}
h1{font-size:15px;margin:0 0 4px}
h2{font-size:13px;margin:12px 0 4px}
p{margin:2px 0}
.faint{color:var(--faint)}
iframe{width:100%;border:1px solid var(--line);border-radius:4px;box-sizing:border-box}
table,pre{font:12px ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace}
table{border-collapse:collapse}
th{text-align:left;font-weight:normal;color:var(--faint);padding:2px 10px 2px 0;
border-bottom:1px solid var(--line)}
td{padding:1px 10px 1px 0;white-space:pre;vertical-align:top}
.n{text-align:right}
.bar{display:flex;width:120px;height:10px;margin-top:4px;background:var(--bar)}
.bar i{display:block;height:10px}
.py,.all{background:var(--py)}
.nat{background:var(--nat)}
.sys{background:var(--sys)}
.wait{background:var(--wait)}
.below{background:var(--py);opacity:.45}
.key i{display:inline-block;width:10px;height:10px;margin:0 4px 0 10px}
"""

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


class Drawn:
    """A picture, and how it is drawn with less in it.

    Args:
        svg: The text of an SVG file.
        again: Draws it without boxes that are narrower than so many percent.
    """

    def __init__(self, svg: str, again: Optional[Callable[[float], str]] = None) -> None:
        self.svg = svg
        self.again = again


def document(title: str, above: str, drawn: Optional[Drawn], below: str) -> str:
    """The page as a file of its own, with the whole picture. Arguments are those of `iframe`."""
    return _page(title, above, "" if drawn is None else _picture(drawn.svg), below)


def iframe(title: str, above: str, drawn: Optional[Drawn], below: str, height: int) -> str:
    """The page as the text of an ``iframe``.

    Args:
        title: The title, as text.
        above: HTML above the picture.
        drawn: The picture.
        below: HTML below it.
        height: The height of the whole, in pixels.
    """
    if drawn is None:
        return framed(_page(title, above, "", below), height)
    text = framed(_page(title, above, _picture(drawn.svg), below), height)
    for percent in _LEFT_OUT if drawn.again is not None else ():
        if _fits(text):
            return text
        note = (
            f"Boxes narrower than {percent:g} % of the width are left out here; "
            'save("x.svg") writes more.'
        )
        picture = _picture(drawn.again(percent)) + _note(note)  # type: ignore[misc]
        text = framed(_page(title, above, picture, below), height)
    if _fits(text):
        return text
    note = 'The picture is too large for a notebook; save("x.svg") writes it to a file.'
    return framed(_page(title, above, _note(note), below), height)


def _fits(text: str) -> bool:
    return len(text.encode("utf-8", "replace")) <= LIMIT


def _note(text: str) -> str:
    return f"<p class=faint>{escape(text)}</p>"


def _page(title: str, above: str, picture: str, below: str) -> str:
    return (
        '<!doctype html><html><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        f"<title>{escape(title)}</title><style>{_STYLE}</style></head>"
        f"<body>{above}{picture}{below}</body></html>"
    )


def _picture(svg: str) -> str:
    """The picture in a frame of its own, so that its styles and keys are its own too."""
    packed = base64.b64encode(gzip.compress(svg.encode("utf-8", "replace"), 9)).decode("ascii")
    style = f"height:{min(height_of(svg) + 4, 560)}px"
    return (
        f"<iframe id=picture sandbox=allow-scripts style={style} title=picture></iframe>"
        "<p id=why class=faint>The picture is shown where scripts may run.</p>"
        f'<script type="text/plain" id=packed>{packed}</script><script>{_SCRIPT}</script>'
    )


def height_of(svg: str) -> int:
    """The height that a picture states."""
    head = svg[: svg.find(">", svg.find("<svg"))]
    _, _, rest = head.partition(' height="')
    digits = rest.split('"', 1)[0].split(".")[0]
    return int(digits) if digits.isdigit() else 400


def framed(page: str, height: int) -> str:
    """A page in an ``iframe`` that may run its own scripts and nothing else."""
    # In a quoted value, only these two characters mean something else.
    quoted = page.replace("&", "&amp;").replace('"', "&quot;")
    return (
        f'<iframe srcdoc="{quoted}" sandbox="allow-scripts" '
        f'style="width:100%;height:{height}px;border:0" title="profundo"></iframe>'
    )
