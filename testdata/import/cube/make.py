"""Writes FILE.sums.txt beside each FILE.cubex.gz: what pyCubexR 2.1.1 reads of its time and visits.

A line has the calls of a function, its own time in nanoseconds, its time with what it calls, and
its name. Values of single threads are rounded.
"""

import gzip
import math
import pathlib
import sys
import tempfile

import pycubexr


def main(path, metric, scale):
    with tempfile.NamedTemporaryFile(suffix=".cubex") as file:
        file.write(gzip.decompress(path.read_bytes()))
        file.flush()
        with pycubexr.CubexParser(file.name) as cubex:
            values = cubex.get_metric_values(cubex.get_metric_by_name(metric))
            visits = cubex.get_metric_by_name("visits") if metric == "time" else None
            visits = visits and cubex.get_metric_values(visits)
            sums = {}

            def whole(node):
                own = values.cnode_values(node, convert_to_exclusive=True)
                return sum(max(0, math.floor(float(value) * scale + 0.5)) for value in own)

            def walk(node, above):
                name = node.region.name
                own = whole(node)
                inner = sum(walk(child, above | {name}) for child in node.get_children())
                row = sums.setdefault(name, [0, 0, 0])
                row[0] += int(visits.value(node)) if visits else 0
                row[1] += own
                row[2] += 0 if name in above else own + inner
                return own + inner

            for root in cubex.get_root_cnodes():
                walk(root, frozenset())
    lines = [f"{a}\t{b}\t{c}\t{name}\n" for name, (a, b, c) in sorted(sums.items())]
    target = path.with_name(path.name.removesuffix(".cubex.gz") + f".{metric}.sums.txt")
    target.write_text("".join(lines))


main(pathlib.Path(sys.argv[1]), sys.argv[2], float(sys.argv[3]))
