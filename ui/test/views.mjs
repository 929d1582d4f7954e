// The views, and what the numbers of each are compared with. A new view is a row here: its place,
// the recordings that have it, and the rows of the command's reports by `data-table`.

import { report } from "./harness/command.mjs";

const functionKey = (row) => `${row.function ?? ""} ${row.file ?? ""}:${row.line ?? ""}`;
const lineKey = (row) => `${row.file}:${row.line}`;
const keyed = (rows, key) => rows.map((row, at) => [String(key(row, at)), row]);
const isSampled = ({ has }) => has.samples || has.memory;

/** The tables of the first view. */
function overview(file, filter) {
  const summary = report(file, "summary", filter);
  const { allocations, memory } = summary;
  return {
    missing: keyed(summary.recording.missing, (row) => row.of),
    leaks: keyed(allocations?.leaks ?? [], (_, at) => at),
    growth: keyed((memory ?? []).filter(({ growth }) => growth !== null), (row) => row.pid).map(([pid, { growth }]) => [pid, growth]),
    whole: [["recording", summary.recording], ["selection", summary.selection]],
    lines: keyed(summary.lines ?? [], lineKey),
    functions: keyed(summary.functions ?? [], functionKey),
    processes: keyed(summary.processes ?? [], (row) => row.process),
    threads: keyed(summary.threads ?? [], (row) => row.thread),
    waits: keyed(summary.waits ?? [], (_, at) => at),
  };
}

function functions(file, filter) {
  return { functions: keyed(report(file, "functions", filter, ["--limit", "20000"]).functions, functionKey) };
}

function lines(file, filter) {
  const all = ["--all-lines", "--limit", "500", "--min-share", "0"];
  const rows = ({ files }) => files.flatMap((file) => keyed(file.lines.map((row) => ({ ...row, file: file.file })), lineKey));
  const statements = report(file, "lines", filter, [...all, "--statements"]);
  return {
    ...functions(file, filter),
    files: keyed(statements.files, (row) => row.file),
    lines: rows(statements),
    parts: rows(report(file, "lines", filter, all)),
    io: traffic(file, filter),
  };
}

/** Bytes by line, where they were recorded. */
function traffic(file, filter) {
  const { io } = report(file, "summary", filter);
  const rows = (io?.lines ?? []).filter(({ at }) => at !== null);
  return rows.map((row) => [lineKey(row.at), row]);
}

/** Counted calls, with the callers and callees of each function. */
function calls(file, filter) {
  const [{ all, functions }] = report(file, "trace", filter, ["--limit", "20000"]).groups;
  const name = (row) => row.name;
  return {
    calls: [["all", all], ...keyed(functions, name)],
    callers: functions.flatMap(({ callers }) => keyed(callers, name)),
    callees: functions.flatMap(({ callees }) => keyed(callees, name)),
  };
}

/** Counted lines, by function. */
function counted(file, filter) {
  const { functions } = report(file, "lines", filter);
  const lines = functions.flatMap((of) => of.lines.map((line) => ({ ...line, file: of.file })));
  return { counted: keyed(functions, (row) => `${row.file ?? ""}:${row.line} ${row.function}`), "counted-lines": keyed(lines, lineKey) };
}

/** The instructions of the hottest native function, which the view shows first. */
function instructions(file, filter) {
  const { functions } = report(file, "functions", filter, ["--limit", "1000"]);
  const native = functions.find((row) => ["native", "rust"].includes(row.language) && row.self_share > 0 && row.function !== null);
  const found = native === undefined ? [] : report(file, "annotate", filter, ["--all", "--limit", "1"], native.function).functions;
  const code = found.find((row) => row.instructions.length > 0);
  return { functions: keyed(functions, functionKey), instructions: keyed(code?.instructions ?? [], (row) => row.address) };
}

/**
 * Each view: `name` and `place` are its own, `isThere` says which recordings have it (as in
 * `ui/src/views/index.ts`), `least` is the fewest numbers that it shows of such a recording, and
 * `tables` is what the command says. A view whose numbers are on a canvas has `picture`; one whose rows
 * are the boxes of the picture before it has `rows`. `isSplit`: its parts stand beside each other.
 * `only` names the recordings that it is tested with.
 */
export const VIEWS = [
  { name: "overview", isThere: () => true, least: 5, tables: overview },
  { name: "functions", isThere: isSampled, least: 4, tables: functions },
  { name: "source", isThere: isSampled, least: 2, tables: lines },
  { name: "flame", isThere: isSampled, least: 0, picture: true },
  { name: "flame", place: "shape=left", isThere: isSampled, least: 0, picture: true },
  { name: "flame", place: "by=thread", isThere: isSampled, least: 0, picture: true, isSplit: true },
  { name: "assembly", isThere: ({ has }) => has.samples, only: ["native"], least: 3, tables: instructions },
  { name: "tree", isThere: isSampled, least: 2, rows: true },
  { name: "tree", place: "libraries=folded", isThere: isSampled, least: 2, rows: true },
  { name: "source", place: "total=1&hot=1", isThere: isSampled, least: 1, tables: lines },
  { name: "exact", isThere: ({ has }) => has.calls, only: ["calls"], least: 10, tables: calls },
  { name: "exact", isThere: ({ has }) => has.counted_lines, only: ["lines"], least: 10, tables: counted },
  { name: "graph", isThere: isSampled, least: 0 },
  { name: "square", isThere: isSampled, least: 0 },
];

/** The views of a recording. */
export function viewsOf(name, about) {
  return VIEWS.filter(({ isThere, only }) => isThere(about) && (only === undefined || only.includes(name)));
}

/** The hash of a place. */
export function hashOf(name, place = "", filter = "") {
  const values = new URLSearchParams(place);
  if (filter !== "") {
    values.set("filter", filter);
  }
  const query = values.toString();
  return `#${name}${query === "" ? "" : `?${query}`}`;
}
