"""A page in the cell of a notebook.

Front ends drop outputs of more than 1 MB, strip styles, show no files and cannot reach this
machine. So a page stands in the ``srcdoc`` of an ``iframe`` that may run its own scripts and load
nothing.

Beside the frame stands the text, which a style hides. A notebook that is not trusted drops frames
and styles, and keeps the rest: so its reader sees the text.
"""

from __future__ import annotations

from html import escape

#: The most bytes of a whole page.
LIMIT = 900_000

#: The text is hidden where there is a frame. The frame is as dark as the notebook around it, which
#: says in the words of JupyterLab, VS Code or Colab what it is; else as the system.
_STYLE = (
    "<style>.profundo-text{display:none}"
    '[data-jp-theme-light="false"] iframe.profundo-page,'
    '.vscode-dark iframe.profundo-page,[theme="dark"] iframe.profundo-page{color-scheme:dark}'
    '[data-jp-theme-light="true"] iframe.profundo-page,'
    '.vscode-light iframe.profundo-page,[theme="light"] iframe.profundo-page{color-scheme:light}'
    "</style>"
)

_UNTRUSTED = "The page is shown where the notebook is trusted: File, Trust Notebook."


def framed(page: str, height: int, text: str = "") -> str:
    """A page in an ``iframe`` that may run its own scripts and nothing else.

    Args:
        page: The page.
        height: The height in pixels.
        text: What is shown where no frame may be.
    """
    # In a quoted value, only these two characters mean something else.
    quoted = page.replace("&", "&amp;").replace('"', "&quot;")
    return (
        f'<iframe srcdoc="{quoted}" sandbox="allow-scripts" '
        f'style="width:100%;height:{height}px;border:0" title="profundo" '
        f'class="profundo-page"></iframe>{_STYLE}'
        f'<div class="profundo-text"><p>{_UNTRUSTED}</p><pre>{escape(text, quote=False)}</pre></div>'
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
