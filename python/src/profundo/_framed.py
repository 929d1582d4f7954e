"""A page in the cell of a notebook.

Front ends drop outputs of more than 1 MB, strip styles, show no files and cannot reach this
machine. So a page stands in the ``srcdoc`` of an ``iframe`` that may run its own scripts and load
nothing.
"""

from __future__ import annotations

from html import escape

#: The most bytes of a whole page.
LIMIT = 900_000


def framed(page: str, height: int) -> str:
    """A page in an ``iframe`` that may run its own scripts and nothing else.

    Args:
        page: The page.
        height: The height in pixels.
    """
    # In a quoted value, only these two characters mean something else.
    quoted = page.replace("&", "&amp;").replace('"', "&quot;")
    return (
        f'<iframe srcdoc="{quoted}" sandbox="allow-scripts" '
        f'style="width:100%;height:{height}px;border:0" title="profundo"></iframe>'
    )


def fits(text: str) -> bool:
    """Whether a front end shows an output of this size."""
    return len(text.encode("utf-8", "replace")) <= LIMIT


def document(title: str, head: str, body: str, policy: str) -> str:
    """A page of its own.

    Args:
        title: The title, as text.
        head: HTML for its head.
        body: HTML for its body.
        policy: What it may run and load.
    """
    return (
        '<!doctype html><html lang=en><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        f"<title>{escape(title)}</title>{head}</head><body>{body}</body></html>"
    )
