"""Defaults from the same files that the command reads (``docs/config.md``)."""

from __future__ import annotations

from .options import Options


def defaults() -> Options:
    """The options that are not given."""
    return Options()
