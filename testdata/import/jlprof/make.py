"""Makes the files beside it, in the layout of FlameGraphs.jl's `src/io.jl`."""

import struct

WORK, MAIN, INLINED, C, BASE = 0x7F0000001000, 0x7F0000002000, 0x7F0000003000, 0x7F0000004000, 0x7F0000005000
NAMES = {
    WORK: [("work", "/home/me/app/work.jl", 12, 0, 0)],
    MAIN: [("main", "/home/me/app/main.jl", 30, 0, 0)],
    INLINED: [("+", "./int.jl", 87, 0, 1), ("add", "/home/me/app/work.jl", 20, 0, 0)],
    C: [("jl_gc_collect", "/build/src/gc.c", 3000, 1, 0)],
    BASE: [("eval", "./boot.jl", 385, 0, 0)],
    0x7F0000006000: [("", "", -1, 1, 0)],
    0: [("", "", -1, 1, 0)],
}


def text(order, name):
    return struct.pack(order + "i", len(name.encode())) + name.encode()


def file(words, order="<"):
    out = b"JLPROF\x01\x00" + struct.pack(order + "IBq", 0x01020304, 1, len(words))
    out += struct.pack(f"{order}{len(words)}Q", *words) + struct.pack(order + "q", len(NAMES))
    for address, frames in NAMES.items():
        out += struct.pack(order + "Qi", address, len(frames))
        for function, path, line, is_c, is_inlined in frames:
            out += text(order, function) + text(order, path)
            out += struct.pack(order + "qBB", line, is_c, is_inlined)
    return out


def block(addresses, thread, task, clock, state):
    return [*addresses, thread, task, clock, state, 0, 0]


# Interpreted code: the mark, one word of the collector's and none besides, a statement's number.
INTERPRETED = [2**64 - 1, 1 | 0 << 3 | 1 << 6 | 5 << 10, 0x7F00DEAD0000]
NEW = (
    block([WORK, MAIN, BASE, 0], 1, 0x7F11, 1000, 1)
    + block([WORK, MAIN, BASE], 1, 0x7F11, 4000, 1)
    + block([INLINED, WORK, MAIN, BASE], 2, 0x7F22, 4100, 1)
    + block([C, WORK, MAIN], 1, 0x7F11, 7000, 1)
    + block([BASE], 2, 0x7F33, 7100, 2)
    + block([WORK, *INTERPRETED, MAIN], 1, 0x7F11, 9000, 1)
    + block([BASE, MAIN], 2**15, 0x7F44, 9100, 3)
    + block([0x7F0000006000], 2**64 - 1, 0, 9200, 3)
)
OLD = (
    [WORK, MAIN, BASE, 0, 0]
    + [INLINED, WORK, MAIN, BASE, 0]
    # Before Julia 1.4: the mark, the code, the statement.
    + [WORK, 2**64 - 1, 0x7F00DEAD0000, 3, MAIN, 0]
    + [0]
    + [C, WORK, MAIN, 0]
)

for name, content in {"new": file(NEW), "old": file(OLD), "big-endian": file(NEW, ">")}.items():
    with open(f"{name}.jlprof", "wb") as out:
        out.write(content)
