"""Makes `report.sqlite` in the schema of `nsys export --type sqlite` (2024.6): samples with stacks,
calls of CUDA, kernels, ranges in one another. Small pages make a tree of several levels, and a long
name that goes on in other pages. The sums of the queries below go to `report.sums.txt`."""

import os
import sqlite3

if os.path.exists("report.sqlite"):
    os.remove("report.sqlite")
db = sqlite3.connect("report.sqlite")
db.execute("PRAGMA page_size = 512")
db.executescript(
    """
CREATE TABLE StringIds (
    -- Consolidation of repetitive string values.

    id                          INTEGER   NOT NULL   PRIMARY KEY,      -- ID reference value.
    value                       TEXT      NOT NULL                     -- String value.
);
CREATE TABLE ThreadNames (nameId INTEGER NOT NULL, priority INTEGER, globalTid INTEGER);
CREATE TABLE PROCESSES (globalPid INTEGER, pid INTEGER, name TEXT);
CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs INTEGER, utcTime TEXT, localTime TEXT);
CREATE TABLE COMPOSITE_EVENTS (
    id                          INTEGER   NOT NULL   PRIMARY KEY,      -- ID of the composite event.
    start                       INTEGER   NOT NULL,                    -- Event start timestamp (ns).
    cpu                         INTEGER,
    threadState                 INTEGER,                               -- REFERENCES ENUM_SAMPLING_THREAD_STATE(id)
    globalTid                   INTEGER,                               -- Serialized GlobalId.
    cpuCycles                   INTEGER   NOT NULL
);
CREATE TABLE SAMPLING_CALLCHAINS (
    id INTEGER NOT NULL, symbol INTEGER NOT NULL, module INTEGER NOT NULL, kernelMode INTEGER,
    thumbCode INTEGER, unresolved INTEGER, specialEntry INTEGER, originalIP INTEGER,
    unwindMethod INTEGER, stackDepth INTEGER NOT NULL,

    PRIMARY KEY (id, stackDepth)
);
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (
    start INTEGER NOT NULL, end INTEGER NOT NULL, eventClass INTEGER NOT NULL, globalTid INTEGER,
    correlationId INTEGER, nameId INTEGER NOT NULL, returnValue INTEGER NOT NULL, callchainId INTEGER
);
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (
    start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL,
    contextId INTEGER NOT NULL, streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER,
    demangledName INTEGER NOT NULL, shortName INTEGER NOT NULL
);
CREATE TABLE NVTX_EVENTS (
    start INTEGER NOT NULL, end INTEGER, eventType INTEGER NOT NULL, text TEXT, globalTid INTEGER,
    textId INTEGER
);
"""
)
LONG = "gemm<" + ", ".join(f"float{i}" for i in range(300)) + ">"
names = ["main", "step", "hot", "do_syscall_64", "/app/app", "libc.so.6", "[kernel.kallsyms]",
         "cudaLaunchKernel", "cudaDeviceSynchronize", "gemm", LONG, "0x7f00", "worker", "epoch"]
number = {name: i + 1 for i, name in enumerate(names)}
db.executemany("INSERT INTO StringIds VALUES (?, ?)", [(i, n) for n, i in number.items()])
pid = 4711
process = (1 << 48) | (pid << 24)
threads = [process | 4711, process | 4712]
db.execute("INSERT INTO ThreadNames VALUES (?, 10, ?)", (number["worker"], threads[1]))
db.execute("INSERT INTO PROCESSES VALUES (?, ?, 'app')", (process, pid))
db.execute("INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES (1700000000000000000, '', '')")
stacks = [
    [("hot", "/app/app", 0, 0), ("step", "/app/app", 0, 0), ("main", "/app/app", 0, 0)],
    [("do_syscall_64", "[kernel.kallsyms]", 1, 0), ("step", "/app/app", 0, 0), ("main", "/app/app", 0, 0)],
    [("0x7f00", "libc.so.6", 0, 1), ("main", "/app/app", 0, 0)],
]
for i in range(300):
    db.execute("INSERT INTO COMPOSITE_EVENTS VALUES (?, ?, 0, 1, ?, 0)",
               (i + 1, 5_000_000 + i * 1_000_000, threads[i % 2]))
    for depth, (symbol, module, kernel, unresolved) in enumerate(stacks[i % 7 % 3]):
        db.execute("INSERT INTO SAMPLING_CALLCHAINS VALUES (?, ?, ?, ?, 0, ?, 0, ?, 0, ?)",
                   (i + 1, number[symbol], number[module], kernel, unresolved, 0x7F00, depth))
for i in range(40):
    at = 10_000_000 + i * 5_000_000
    rows = [(at, at + 20_000, "cudaLaunchKernel"), (at + 30_000, at + 900_000 + i, "cudaDeviceSynchronize")]
    for start, end, name in rows:
        db.execute("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (?, ?, 0, ?, ?, ?, 0, NULL)",
                   (start, end, threads[0], i, number[name]))
    db.execute("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (?, ?, 0, 1, ?, ?, ?, ?, ?)",
               (at + 40_000, at + 800_000, 7 + i % 2, i, process, number[LONG], number["gemm"]))
    db.execute("INSERT INTO NVTX_EVENTS VALUES (?, ?, 59, NULL, ?, ?)",
               (at - 1000, at + 1_000_000, threads[0], number["epoch"]))
    db.execute("INSERT INTO NVTX_EVENTS VALUES (?, ?, 59, 'forward', ?, NULL)",
               (at, at + 400_000, threads[0]))
db.execute("INSERT INTO NVTX_EVENTS VALUES (7, NULL, 34, 'a mark', ?, NULL)", (threads[0],))
db.commit()
with open("report.sums.txt", "w") as out:
    for (what, query) in [
        ("cpu", """SELECT value, count(*) FROM SAMPLING_CALLCHAINS c JOIN StringIds s ON s.id = symbol
                   WHERE unresolved = 0 AND stackDepth = 0 GROUP BY symbol"""),
        ("cuda", """SELECT value, sum(end - start) FROM CUPTI_ACTIVITY_KIND_RUNTIME JOIN StringIds s
                    ON s.id = nameId GROUP BY nameId"""),
        ("kernels", """SELECT value, sum(end - start) FROM CUPTI_ACTIVITY_KIND_KERNEL JOIN StringIds s
                       ON s.id = shortName GROUP BY shortName"""),
    ]:
        for name, weight in db.execute(query):
            print(what, name, weight, sep="\t", file=out)
