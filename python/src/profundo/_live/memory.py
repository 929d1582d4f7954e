"""Memory of a call: its peak and its increment, and by line."""

from __future__ import annotations

from typing import Any, Callable

from .._profile import Path


def memit(function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    """The peak of memory in a call, and its increment."""
    raise NotImplementedError


def mprun(function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    """The memory of a call, by line."""
    raise NotImplementedError


def heap_snapshot(path: Path) -> str:
    """Write the objects of this process, and who holds whom."""
    raise NotImplementedError
