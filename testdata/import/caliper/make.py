"""Writes FILE.sums.txt beside each file: what Hatchet (llnl-hatchet, with caliper-reader) reads of it.

A line has the own time of a function in nanoseconds, its time with what it calls, and its name.
"""

import json
import pathlib
import sys
import tempfile

import caliperreader
import hatchet


def frame(path):
    if path.suffix == ".json":
        data = json.loads(path.read_text())
        if "Node order" not in data["columns"]:
            # Hatchet takes it to be there.
            data["columns"].append("Node order")
            data["column_metadata"].append({"is_value": True})
            for row in data["data"]:
                row.append(0)
        with tempfile.TemporaryDirectory() as folder:
            copy = pathlib.Path(folder) / "copy.json"
            copy.write_text(json.dumps(data))
            return hatchet.GraphFrame.from_caliper(str(copy))
    reader = caliperreader.CaliperReader()
    reader.read(str(path))
    for record in reader.records:
        # A path of one region is a string, and Hatchet wants lists of nodes.
        if isinstance(record.get("path"), str):
            record["path"] = [record["path"]]
    return hatchet.GraphFrame.from_caliperreader(reader)


def main(path, column, scale, is_inclusive):
    read = frame(path)
    table = read.dataframe.reset_index().groupby("node")[column].sum()
    value = {node: round(table.get(node, 0.0) * scale) for node in read.graph.traverse()}
    total = {}
    for node in read.graph.traverse(order="post"):
        inner = sum(total[child] for child in node.children)
        total[node] = value[node] if is_inclusive else value[node] + inner
    sums = {}

    def walk(node, above):
        name = node.frame["name"]
        inner = sum(total[child] for child in node.children)
        own = total[node] - inner
        mine = sums.setdefault(name, [0, 0])
        mine[0] += own
        if name not in above:
            mine[1] += total[node]
        for child in node.children:
            walk(child, above | {name})

    for root in read.graph.roots:
        walk(root, frozenset())
    lines = [f"{own} {total} {name}\n" for name, (own, total) in sorted(sums.items())]
    pathlib.Path(f"{path}.sums.txt").write_text("".join(lines))


main(pathlib.Path(sys.argv[1]), sys.argv[2], float(sys.argv[3]), sys.argv[4] == "inclusive")
