"""The IPython extension: ``%load_ext profundo``.

============= ==================================================================================
``magics``     the magics, and what the extension puts into a shell
``options``    their options
``rewriting``  how a cell is rewritten so that all of it runs in one region
``shown``      a cell or a statement that runs in a region, and is shown afterwards
``view``       the profile of a cell, as text and as a page
``tables``     the reports that it has
``kernel``     what in a kernel's process is not the cell
``bench``      ``%%bench``: ``candidates``, their ``timing``, and the ``benchmark`` that results
``memory``     ``%memit``
============= ==================================================================================
"""

from __future__ import annotations

from typing import Any, Dict

#: What is loaded, by shell.
_loaded: Dict[int, Any] = {}


def load_ipython_extension(shell: Any) -> None:
    """Called by ``%load_ext profundo``."""
    from .magics import Loaded

    if id(shell) not in _loaded:
        _loaded[id(shell)] = Loaded(shell)


def unload_ipython_extension(shell: Any) -> None:
    """Called by ``%unload_ext profundo``."""
    loaded = _loaded.pop(id(shell), None)
    if loaded is not None:
        loaded.unload()
