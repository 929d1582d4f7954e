// The recordings that the page is tested with: one of each kind, made once into
// `target/page-recordings`. A recording is made anew when its program or its row here changes.

import { execFileSync, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { copyFileSync, existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";

import { writeHeap } from "../programs/hostile_heap.mjs";
import { COMMAND, profundo, report, ROOT, TARGET } from "./command.mjs";

const PROGRAMS = join(ROOT, "ui", "test", "programs");
const FOLDER = join(TARGET, "page-recordings");

/** The interpreter itself: a shim that is a script would be recorded too. */
export function python() {
  return execFileSync("python3", ["-c", "import sys; print(sys.executable)"], { encoding: "utf8" }).trim();
}

/** A Python program under a verb of the command. */
const pythonProgram = (program, words, ...rest) => ({
  program,
  words,
  make: (out) => profundo([...words, "--force", "-o", out, "--", python(), join(PROGRAMS, program), ...rest]),
});

/** Another tool's file, which is read as it is. */
const foreign = (program) => ({
  program,
  ending: program.slice(program.lastIndexOf("/") + 1).replace(/^[^.]*\./, ""),
  make: (out) => copyFileSync(resolve(PROGRAMS, program), out),
});

/** A recording whose names attack the page. */
const hostile = (kind) => ({
  program: join(ROOT, "crates", "profundo-formats", "examples", "hostile_names.rs"),
  words: [kind],
  isPart: true,
  make: (out) => {
    const words = ["run", "--quiet", "--package", "profundo-formats", "--example", "hostile_names", "--", out, kind];
    execFileSync("cargo", words, { cwd: ROOT, stdio: ["ignore", "ignore", "inherit"] });
  },
});

/** A heap snapshot whose types, objects and texts have the names of the hostile recording. */
function writeHostileHeap(out) {
  const { functions } = report(recording("hostile"), "functions", "", ["--limit", "20000"]);
  writeHeap(out, functions.map((row) => row.function ?? ""));
}

/** A heap snapshot of a program that holds objects. */
const snapshot = (how) => ({
  program: "holds.py",
  ending: "heapsnapshot",
  words: [how],
  make: (out) => {
    const program = spawn(python(), [join(PROGRAMS, "holds.py"), how], { stdio: ["pipe", "ignore", "ignore"] });
    try {
      profundo(["snapshot", String(program.pid), "--no-redact", "--force", "-o", out]);
    } finally {
      program.kill("SIGKILL");
    }
  },
});

/** The memory of a process that runs, looked at from outside. */
const lookedAt = (program) => ({
  program,
  words: ["--memory=outside"],
  make: (out) => {
    const running = spawn(python(), [join(PROGRAMS, program)], { stdio: "ignore" });
    try {
      profundo(["attach", String(running.pid), "--memory=outside", "-d", "6", "--force", "-o", out]);
    } finally {
      running.kill("SIGKILL");
    }
  },
});

/**
 * By name, the program and how it is recorded. Those with `isPart` are looked at in sets only, or in
 * tests of their own.
 */
export const RECORDINGS = {
  cpu: pythonProgram("busy.py", ["record"]),
  native: {
    program: "native.c",
    make: (out) => {
      const binary = join(FOLDER, "native");
      execFileSync("gcc", ["-g", "-O1", "-fno-inline", "-o", binary, join(PROGRAMS, "native.c")]);
      profundo(["record", "--force", "-o", out, "--", binary]);
    },
  },
  wall: pythonProgram("waits.py", ["record", "--wall"]),
  memory: pythonProgram("memory.py", ["record", "--memory"]),
  exact: pythonProgram("memory.py", ["record", "--memory=exact"]),
  statements: pythonProgram("statements.py", ["record", "--wall"]),
  kept: { ...pythonProgram("statements.py", ["record", "--memory=exact"]), isPart: true },
  calls: pythonProgram("calls.py", ["trace"]),
  lines: pythonProgram("calls.py", ["trace", "--lines"]),
  spans: pythonProgram("spans.py", ["record"], join(ROOT, "python", "src")),
  processes: pythonProgram("processes.py", ["record"]),
  merged: {
    program: "busy.py",
    make: (out) => {
      const parts = [1, 2].map((number) => join(FOLDER, `part${number}.profundo`));
      for (const part of parts) {
        RECORDINGS.cpu.make(part);
      }
      profundo(["merge", "--force", "-o", out, ...parts]);
    },
  },
  collapsed: foreign("stacks.folded"),
  heaponly: foreign("../../../testdata/import/pprof/go-heap.pb.gz"),
  exceptions: pythonProgram("raises.py", ["trace", "--exceptions"]),
  growing: { ...lookedAt("grows.py"), isPart: true },
  cells: { ...pythonProgram("cells.py", ["record"]), isPart: true },
  cpu2: { ...pythonProgram("busy.py", ["record"], "more"), isPart: true },
  memory2: { ...pythonProgram("memory.py", ["record", "--memory"], "more"), isPart: true },
  calls2: { ...pythonProgram("calls.py", ["trace"], "more"), isPart: true },
  heap: snapshot("few"),
  heap2: { ...snapshot("more"), isPart: true },
  // Names that attack a page, written by the crates themselves.
  hostile: hostile(""),
  hostile2: hostile("more"),
  counted: hostile("counted"),
  attacks: { program: "hostile_heap.mjs", ending: "heapsnapshot", isPart: true, make: writeHostileHeap },
};

/** Files that are looked at together: two recordings, two snapshots, or one of each. */
export const SETS = {
  cpus: ["cpu", "cpu2"],
  memories: ["memory", "memory2"],
  counts: ["calls", "calls2"],
  heaps: ["heap", "heap2"],
  attack: ["hostile", "hostile2"],
  both: ["memory", "heap"],
};

/** The paths of a recording, or of a set. */
export function filesOf(name) {
  return (SETS[name] ?? [name]).map(recording);
}

/** The path of a recording, which is made if it is not there. */
export function recording(name) {
  mkdirSync(FOLDER, { recursive: true });
  const { program, words = [], make, ending = "profundo" } = RECORDINGS[name];
  const source = readFileSync(resolve(PROGRAMS, program), "utf8");
  const key = createHash("sha256").update(`${source}${words}${make}${COMMAND}`).digest("hex").slice(0, 12);
  const path = join(FOLDER, `${name}-${key}.${ending}`);
  if (!existsSync(path)) {
    const part = join(FOLDER, `.${name}-${process.pid}.${ending}`);
    make(part);
    renameSync(part, path);
  }
  return path;
}

/** Recordings that are not ours, to be looked at too: `PROFUNDO_RECORDINGS=PATH,PATH`. */
export const GIVEN = (process.env.PROFUNDO_RECORDINGS ?? "").split(",").filter((path) => path !== "");

/** A filter for the largest part of a recording: a thread of several, or else the hottest function. */
export function largestPart(file) {
  const quoted = (text) => `"${text.replace(/["\\]/g, "\\$&")}"`;
  const names = report(file, "summary").threads.map(({ name }) => name);
  const name = names.find((name) => name !== null);
  if (name !== undefined && new Set(names).size > 1) {
    return `thread=${quoted(name)}`;
  }
  const hottest = report(file, "functions").functions.find((row) => row.function !== null && !row.function.startsWith("["));
  return `focus=${quoted(hottest === undefined ? "." : `^${hottest.function.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")}$`)}`;
}

/** A copy of a recording at a place of its own, for tests that replace it. */
export function copyOf(name, as) {
  const path = join(FOLDER, as);
  writeFileSync(path, readFileSync(recording(name)));
  return path;
}

export { FOLDER, PROGRAMS };

