"""Modules of other profilers, so that code that was written for them runs where they are absent.

    import profundo.compat
    profundo.compat.install()

    from line_profiler import profile        # Profundo's, unless line_profiler is installed
    import memray                            # the same

After ``install()``, the import of `line_profiler`, `memory_profiler`, `statprof`, `scalene` or
`memray` gives what programs use of them, if no such module is found. The name `profile` is a
builtin then, as under `kernprof`, unless there is one already.

What the decorators and trackers enclose is a region (``profundo.profile``). Where this process is
recorded already, as by ``profundo run``, it is a span of that recording, and decorators return the
function itself.
"""

from __future__ import annotations

import sys
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any, Optional

__all__ = ["install", "uninstall"]

#: The modules, and those of this package that stand in for them.
_STAND_INS = {
    "line_profiler": "_line_profiler",
    "memory_profiler": "_memory_profiler",
    "memray": "_memray",
    "scalene": "_scalene",
    "scalene.scalene_profiler": "_scalene_profiler",
    "statprof": "_statprof",
}


class _Finder(MetaPathFinder, Loader):
    """Comes after all others: what they find is theirs."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Optional[ModuleSpec]:
        if name not in _STAND_INS:
            return None
        if name.startswith("scalene.") and not _is_ours(sys.modules.get("scalene")):
            return None
        return ModuleSpec(name, self, is_package=name == "scalene")

    def create_module(self, spec: ModuleSpec) -> Optional[ModuleType]:
        return None

    def exec_module(self, module: ModuleType) -> None:
        from importlib import import_module

        stand_in = import_module("._foreign." + _STAND_INS[module.__name__], "profundo")
        for name, value in vars(stand_in).items():
            if not name.startswith("__"):
                setattr(module, name, value)
        module.__doc__ = stand_in.__doc__


_FINDER = _Finder()


def install() -> None:
    """Give programs the modules of other profilers that are absent, and the builtin `profile`."""
    import builtins

    if _FINDER not in sys.meta_path:
        sys.meta_path.append(_FINDER)
    if not hasattr(builtins, "profile"):
        from ._foreign._line_profiler import profile

        builtins.profile = profile  # type: ignore[attr-defined]


def uninstall() -> None:
    """Take away what ``install`` gave. Modules that are imported already stay with who has them."""
    import builtins

    if _FINDER in sys.meta_path:
        sys.meta_path.remove(_FINDER)
    for name in _STAND_INS:
        if _is_ours(sys.modules.get(name)):
            del sys.modules[name]
    stand_in = sys.modules.get("profundo._foreign._line_profiler")
    if stand_in is not None and getattr(builtins, "profile", None) is stand_in.profile:
        del builtins.profile  # type: ignore[attr-defined]


def _is_ours(module: Optional[ModuleType]) -> bool:
    return getattr(getattr(module, "__spec__", None), "loader", None) is _FINDER
