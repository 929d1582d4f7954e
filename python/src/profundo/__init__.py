"""Profundo: where a program spends its time and its memory.

    import profundo

    p = profundo.load("app.profundo")        # or profundo.load(): the newest recording
    print(p)                                 # the first screen
    for line in p.lines[:5]:
        print(line.file, line.line, line.self_share)
    p.save("app.svg")                        # a flame graph; .pb.gz, .speedscope.json, ...
    print(profundo.diff("before.profundo", "after.profundo"))

``python -m profundo`` is the command ``profundo``, which makes recordings.

Nothing is imported before it is used, so that ``import profundo`` costs a program next to nothing.
"""

import sys

__version__ = "0.2.0"

__all__ = [
    "Change",
    "Diff",
    "DiffRow",
    "Error",
    "Function",
    "Line",
    "Picture",
    "Profile",
    "Quality",
    "Region",
    "Share",
    "Span",
    "diff",
    "heap_snapshot",
    "is_running",
    "lines",
    "load",
    "mark",
    "memit",
    "merge",
    "mprun",
    "pause",
    "profile",
    "resume",
    "span",
    "start",
    "stop",
]

# Type checkers take this name for `typing.TYPE_CHECKING`, whose module takes longer to import than
# all the rest.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from . import compat as compat
    from . import statprof as statprof
    from ._diff import Change as Change
    from ._diff import Diff as Diff
    from ._diff import DiffRow as DiffRow
    from ._diff import diff as diff
    from ._error import Error as Error
    from ._live.lines import lines as lines
    from ._live.memory import heap_snapshot as heap_snapshot
    from ._live.memory import memit as memit
    from ._live.memory import mprun as mprun
    from ._live.profile import profile as profile
    from ._live.region import Region as Region
    from ._live.spans import Span as Span
    from ._live.spans import mark as mark
    from ._live.spans import span as span
    from ._live.switch import is_running as is_running
    from ._live.switch import pause as pause
    from ._live.switch import resume as resume
    from ._live.switch import start as start
    from ._live.switch import stop as stop
    from ._picture import Picture as Picture
    from ._profile import Profile as Profile
    from ._profile import load as load
    from ._profile import merge as merge
    from ._rows import Function as Function
    from ._rows import Line as Line
    from ._rows import Quality as Quality
    from ._rows import Share as Share

# The module of each name.
_PLACES = {
    "Change": "_diff",
    "Diff": "_diff",
    "DiffRow": "_diff",
    "Error": "_error",
    "Function": "_rows",
    "Line": "_rows",
    "Picture": "_picture",
    "Profile": "_profile",
    "Quality": "_rows",
    "Region": "_live.region",
    "Share": "_rows",
    "Span": "_live.spans",
    "diff": "_diff",
    "heap_snapshot": "_live.memory",
    "is_running": "_live.switch",
    "lines": "_live.lines",
    "load": "_profile",
    "load_ipython_extension": "_ipython",
    "mark": "_live.spans",
    "memit": "_live.memory",
    "merge": "_profile",
    "mprun": "_live.memory",
    "pause": "_live.switch",
    "profile": "_live.profile",
    "resume": "_live.switch",
    "span": "_live.spans",
    "start": "_live.switch",
    "stop": "_live.switch",
    "unload_ipython_extension": "_ipython",
}

# Modules that need no import of their own.
_MODULES = ("compat", "statprof")


def __getattr__(name):  # type: (str) -> object
    """Import a name when it is used for the first time (PEP 562)."""
    from importlib import import_module

    if name in _MODULES:
        return import_module("." + name, __name__)
    place = _PLACES.get(name)
    if place is None:
        # Not an f-string: Python 2.7 reads this file, too.
        raise AttributeError("module 'profundo' has no attribute %r" % (name,))
    value = getattr(import_module("." + place, __name__), name)
    globals()[name] = value
    return value


def __dir__():  # type: () -> list
    """The names, those that are not imported yet among them."""
    return sorted(set(globals()) | set(__all__) | set(_MODULES))


if sys.version_info < (3, 8):
    from ._old import *  # noqa: F403
