// The recordings that the page is tested with: one of each kind, made once into
// `target/page-recordings`. A recording is made anew when its program or its row here changes.

import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";

import { COMMAND, profundo, ROOT, TARGET } from "./command.mjs";

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

/** By name, the program and how it is recorded. */
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
  // Names that attack a page, written by the crates themselves.
  hostile: {
    program: join(ROOT, "crates", "profundo-formats", "examples", "hostile_names.rs"),
    make: (out) => {
      const words = ["run", "--quiet", "--package", "profundo-formats", "--example", "hostile_names", "--", out];
      execFileSync("cargo", words, { cwd: ROOT, stdio: ["ignore", "ignore", "inherit"] });
    },
  },
};

/** The path of a recording, which is made if it is not there. */
export function recording(name) {
  mkdirSync(FOLDER, { recursive: true });
  const { program, words = [], make } = RECORDINGS[name];
  const source = readFileSync(resolve(PROGRAMS, program), "utf8");
  const key = createHash("sha256").update(`${source}${words}${make}${COMMAND}`).digest("hex").slice(0, 12);
  const path = join(FOLDER, `${name}-${key}.profundo`);
  if (!existsSync(path)) {
    const part = join(FOLDER, `.${name}-${process.pid}.profundo`);
    make(part);
    renameSync(part, path);
  }
  return path;
}

/** A copy of a recording at a place of its own, for tests that replace it. */
export function copyOf(name, as) {
  const path = join(FOLDER, as);
  writeFileSync(path, readFileSync(recording(name)));
  return path;
}

export { FOLDER };

