"""Writes sums.txt into a database: what Hatchet (llnl-hatchet 2026.2.0) reads of it.

A line has the own weight of a function, its weight with what it calls, and its name, which Hatchet
cuts at brackets, dots and the like. Times are in nanoseconds.
"""

import pathlib
import re
import sys

import hatchet
from hatchet.readers.hpctoolkit_reader import HPCToolkitReader
from hatchet.readers.hpctoolkit_reader_latest import HPCToolkitReaderLatest


def main(folder, scale):
    if (folder / "meta.db").exists():
        reader = HPCToolkitReaderLatest(str(folder), label_function_nodes=False)
    else:
        reader = HPCToolkitReader(str(folder))
    read = reader.read()
    names = [name for name in read.dataframe.columns if name == "time (inc)"]
    table = read.dataframe.reset_index().groupby("node")[names[0]].sum()
    sums = {}

    def below(node):
        """The functions that are next below a node."""
        for child in node.children:
            if child.frame["type"] == "function":
                yield child
            else:
                yield from below(child)

    def walk(node, above):
        name = re.sub(r"^\d+:", "", node.frame["name"])
        total = float(table.get(node, 0.0))
        inner = list(below(node))
        own = total - sum(float(table.get(child, 0.0)) for child in inner)
        row = sums.setdefault(name, [0, 0])
        row[0] += round(own * scale)
        row[1] += 0 if name in above else round(total * scale)
        for child in inner:
            walk(child, above | {name})

    for root in read.graph.roots:
        if root.frame["type"] == "function":
            walk(root, frozenset())
        else:
            for child in below(root):
                walk(child, frozenset())
    lines = [f"{own} {total} {name}\n" for name, (own, total) in sorted(sums.items())]
    (folder / "sums.txt").write_text("".join(lines))


main(pathlib.Path(sys.argv[1]), float(sys.argv[2]))
