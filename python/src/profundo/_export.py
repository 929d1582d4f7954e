"""Files of other kinds: which verb of the command writes a file of that name."""

from __future__ import annotations

import os
from typing import Any, Dict, List, Optional, Tuple

from . import _command
from ._error import Error

#: Words of the command for each format.
FORMATS: Dict[str, Tuple[str, ...]] = {
    "pprof": ("export", "--to=pprof"),
    "collapsed": ("export", "--to=collapsed"),
    "speedscope": ("export", "--to=speedscope"),
    "pstats": ("export", "--to=pstats"),
    "callgrind": ("export", "--to=callgrind"),
    "lprof": ("export", "--to=lprof"),
    "chrome": ("export", "--to=chrome"),
    "firefox": ("export", "--to=firefox"),
    "cpuprofile": ("export", "--to=cpuprofile"),
    "heapprofile": ("export", "--to=heapprofile"),
    "perf-script": ("export", "--to=perf-script"),
    "massif": ("export", "--to=massif"),
    "dhat": ("export", "--to=dhat"),
    "vega-lite": ("export", "--to=vega-lite"),
    "jlprof": ("export", "--to=jlprof"),
    "otlp": ("export", "--to=otlp"),
    "flame": ("flame",),
    "heatmap": ("heatmap",),
    "graph": ("graph",),
    "square": ("graph", "--square"),
    "dot": ("graph",),
}

#: Endings of file names; the longest that fits decides.
ENDINGS: Dict[str, str] = {
    "pb.gz": "pprof",
    "pprof": "pprof",
    "pprof.gz": "pprof",
    "folded": "collapsed",
    "collapsed": "collapsed",
    "txt": "collapsed",
    "speedscope.json": "speedscope",
    "json": "speedscope",
    "speedscope": "speedscope",
    "pstats": "pstats",
    "prof": "pstats",
    "callgrind": "callgrind",
    "lprof": "lprof",
    "svg": "flame",
    "heatmap.svg": "heatmap",
    "graph.svg": "graph",
    "square.svg": "square",
    "dot": "dot",
    "gv": "dot",
    "trace.json": "chrome",
    "firefox.json": "firefox",
    "cpuprofile": "cpuprofile",
    "heapprofile": "heapprofile",
    "linux-perf.txt": "perf-script",
    "perf.txt": "perf-script",
    "perf": "perf-script",
    "massif": "massif",
    "dhat.json": "dhat",
    "dhat": "dhat",
    "vl.json": "vega-lite",
    "vega.json": "vega-lite",
    "vega-lite.json": "vega-lite",
    "jlprof": "jlprof",
    "otlp": "otlp",
    "otlp.pb": "otlp",
    "profundo": "profundo",
}

#: Formats that have something where there are no samples: what was counted, spans, and memory.
COUNTED = ("pstats", "callgrind", "lprof", "chrome", "firefox", "heapprofile", "massif", "dhat")
#: The format of recordings themselves.
RECORDING = "profundo"
#: The page of `profundo view`.
PAGE = "html"
#: Endings that only this package knows.
_OWN = {"html": PAGE, "htm": PAGE}


def format_of(path: str, format: Optional[str]) -> str:
    """The format of a file: the one that is asked for, or that of its name."""
    known = ", ".join(sorted([*FORMATS, PAGE]) + [RECORDING])
    if format is not None:
        if format not in FORMATS and format not in (RECORDING, PAGE):
            raise Error(f"there is no format {format!r}: the formats are {known}")
        return format
    name = os.path.basename(path).lower()
    endings = dict(ENDINGS, **_OWN)
    fitting = [ending for ending in endings if name.endswith("." + ending)]
    if not fitting:
        kinds = ", ".join("." + ending for ending in endings)
        raise Error(
            f"no format has the ending of {path!r}: the endings are {kinds}; format= names a format"
        )
    return endings[max(fitting, key=len)]


def write(recording: str, path: str, format: str, options: Dict[str, Any]) -> None:
    """Write a recording in another format."""
    verb, extra = FORMATS[format][0], list(FORMATS[format][1:])
    words = [verb, recording] + extra + _command.spelled(options)
    if format == "dot" and not path.endswith((".dot", ".gv")):
        raise Error(f"{path!r} does not end in .dot or .gv")
    _command.run(words + ["--output=" + path])


def picture(recording: str, verb: str, options: Dict[str, Any]) -> str:
    """A picture as the text of an SVG file."""
    words: List[str] = [verb, recording] + _command.spelled(options)
    return _command.text(words + ["--output=-"], (0,))
