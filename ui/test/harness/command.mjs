// The command under test: where it is, what it reports, and which options a filter's text is.

import { execFileSync } from "node:child_process";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

/** The repository. */
export const ROOT = join(dirname(fileURLToPath(import.meta.url)), "..", "..", "..");

/** Where cargo builds, and where recordings for these tests are kept. */
export const TARGET = process.env.CARGO_TARGET_DIR ?? join(ROOT, "target");

/** The command. `PROFUNDO_COMMAND` names another one. */
export const COMMAND = process.env.PROFUNDO_COMMAND ?? join(TARGET, "debug", "profundo");

/** The environment of the command: no settings of the user's. */
export const ENVIRONMENT = { ...process.env, PROFUNDO_NO_CONFIG: "1", NO_COLOR: "1" };

/** Runs the command to its end, and gives what it has printed. */
export function profundo(words, options = {}) {
  return execFileSync(COMMAND, words, {
    env: ENVIRONMENT,
    encoding: "utf8",
    maxBuffer: 1 << 28,
    stdio: ["ignore", "pipe", "pipe"],
    timeout: 120_000,
    ...options,
  });
}

/** The options that a filter's text stands for. */
export function optionsOf(filter) {
  const terms = [...filter.matchAll(/([a-z-]+)=("(?:[^"\\]|\\.)*"|\S*)/g)];
  return terms.flatMap(([, name, value]) => [
    `--${name}`,
    value.startsWith('"') ? value.slice(1, -1).replace(/\\(.)/g, "$1") : value,
  ]);
}

/** What was printed, by command: several views show the same report. */
const printed = new Map();

/** What a command prints as JSON. */
export function json(words) {
  const key = words.join("\0");
  const known = printed.get(key) ?? profundo([...words, "--json"]);
  printed.set(key, known);
  return JSON.parse(known);
}

/** A report as JSON: what `profundo report FILE WHAT --json` prints. */
export function report(file, what, filter = "", options = [], name = undefined) {
  const words = name === undefined ? [] : [name];
  return json(["report", file, what, ...words, ...options, ...optionsOf(filter)]);
}
