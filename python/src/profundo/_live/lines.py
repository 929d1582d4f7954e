"""``profundo.lines``: the lines of chosen functions."""

from __future__ import annotations

from typing import Any, Callable, TypeVar, overload

F = TypeVar("F", bound=Callable[..., Any])


@overload
def lines(function: F, /) -> F: ...


@overload
def lines(*, exact: bool = False) -> Callable[[F], F]: ...


def lines(function: Any = None, /, *, exact: bool = False) -> Any:
    """Decorate functions whose lines are of interest."""
    raise NotImplementedError
