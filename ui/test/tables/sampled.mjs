// What the command says of samples: the tables of the views that weigh time or memory. Each function
// gives rows by `data-table`, as pairs of a key and a row.

import assert from "node:assert/strict";

import { report } from "../harness/command.mjs";

export const functionKey = (row) => `${row?.function ?? ""} ${row?.file ?? ""}:${row?.line ?? ""}`;
export const lineKey = (row) => `${row.file}:${row.line}`;
export const keyed = (rows, key) => rows.map((row, at) => [String(key(row, at)), row]);

/** How many rows a table has, and that it shows all of them. */
export const counted = (rows) => ["all", { rows: rows.length, rows_shown: rows.length }];

/** The options of what samples weigh: `of` and `count` of a place. */
export function weighed({ of, count }) {
  return [...(of ? ["--of", of] : []), ...(count ? ["--count"] : [])];
}

/** The tables of the first view, and of the tracks below its head. */
export async function overview({ file, filter, page, values, about }) {
  // The command has no summary of memory, and of exceptions another: the head is the answer's own, the
  // rows are those of reports.
  const isOther = values.of !== undefined || about.has.exceptions;
  const summary = isOther ? await page.ask("report", { filter, of: values.of, count: values.count, what: "summary", parts: "head,verdict,lines,functions,waits,totals" }) : report(file, "summary", filter);
  if (values.of !== undefined) {
    const { functions } = report(file, "functions", filter, ["--limit", "20000", ...weighed(values)]);
    const { files } = report(file, "lines", filter, ["--all-lines", "--limit", "500", "--min-share", "0", ...weighed(values)]);
    const lines = files.flatMap((file) => file.lines.map((row) => ({ ...row, file: file.file })));
    Object.assign(summary, { functions, lines });
  }
  const { allocations, memory } = summary;
  const tables = {
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
  if (about.has.times || about.has.gauges) {
    Object.assign(tables, timesOf(await page.ask("timeline", { filter, tracks: 0 })));
  }
  return tables;
}

export function functions({ file, filter, values }) {
  const { functions } = report(file, "functions", filter, ["--limit", "20000", ...weighed(values)]);
  return { functions: [counted(functions), ...keyed(functions, functionKey)] };
}

export function lines({ file, filter, values }) {
  const all = ["--all-lines", "--limit", "500", "--min-share", "0", ...weighed(values)];
  const statements = report(file, "lines", filter, [...all, "--statements"]);
  const rowsOf = ({ files }) => files.flatMap((file) => keyed(file.lines.map((row) => ({ ...row, file: file.file })), lineKey));
  const rows = (list, key) => keyed((list ?? []).filter(({ at }) => at?.file), ({ at }) => lineKey(at)).map(([at, row]) => [key ?? at, row]);
  const [allocations, apart] = [["--statements"], []].map((how) => (values.hasMemory ? report(file, "allocs", filter, ["--limit", "2000", ...how]).allocations : undefined));
  // What was read and written is counted in bytes, whatever the samples weigh.
  const hasTraffic = values.of === undefined && report(file, "summary", filter).io != null;
  const traffic = (how) => (hasTraffic ? report(file, "io", filter, how).lines : []);
  return {
    ...functions({ file, filter, values }),
    files: [["all", { files_left_out: statements.files_left_out }], ...keyed(statements.files, (row) => row.file)],
    lines: rowsOf(statements),
    parts: rowsOf(report(file, "lines", filter, all)),
    io: rows(traffic(["--statements"])),
    io_parts: rows(traffic([])),
    heap: rows(allocations?.lines),
    heap_parts: rows(apart?.lines),
    copies: rows(allocations?.copies),
    copies_parts: rows(apart?.copies),
    leaks: rows(allocations?.leaks),
    leaks_parts: rows(apart?.leaks),
  };
}

/** The instructions of the hottest native function, which the view shows first. */
export function instructions({ file, filter }) {
  const { functions } = report(file, "functions", filter, ["--limit", "1000"]);
  const native = functions.find((row) => ["native", "rust"].includes(row.language) && row.self_share > 0 && row.function !== null);
  const found = native === undefined ? [] : report(file, "annotate", filter, ["--all", "--limit", "1"], native.function).functions;
  const code = found.find((row) => row.instructions.length > 0);
  return { functions: keyed(functions, functionKey), instructions: keyed(code?.instructions ?? [], (row) => row.address) };
}

/** The rows of the answer to `timeline`, which no report prints. */
export function timesOf(answer) {
  const sum = { ...answer.all, tracks: answer.tracks, shown: answer.shown, unplaced: answer.unplaced, from: answer.from, to: answer.to, span: answer.span };
  return {
    times: [["all", { ...answer.all.times, garbage: answer.all.garbage }]],
    tracks: [
      ["all", sum],
      ...answer.processes.flatMap(({ pid, row, tracks }) => [[`process ${pid}`, row], ...tracks.map((track) => [`${track.is} ${track.number}`, track.row])]),
      ...answer.memory.map((row) => [`memory ${row.pid}`, row]),
    ],
  };
}

export async function timeline({ filter, page, values }) {
  return timesOf(await page.ask("timeline", { filter, by: values.by }));
}

/** The squares of the answer to `heatmap`, which no report prints. */
export async function heatmap({ filter, page, values }) {
  const map = await page.ask("heatmap", { filter, column: values.column });
  const squares = map.busy.map((busy, at) => [String(at), { busy, waiting: map.waiting[at], samples: map.samples[at], hottest_time: map.hottest_time[at] }]);
  return { heatmap: [["all", { ...map, most_waiting: Math.max(...map.waiting) }]], squares };
}

/** The boxes of the call graph as a table: their shares are those of `report functions`. */
export async function graph({ file, filter, page, values }) {
  const { functions } = report(file, "functions", filter, ["--limit", "20000", ...weighed(values)]);
  const drawn = await page.ask("graph", { filter, of: values.of, nodes: 60 });
  for (const node of drawn.nodes) {
    const same = functions.filter((row) => (row.function ?? "[unknown]") === node.name && (row.file ?? "") === node.file);
    const isNear = (row) => Math.abs(row.self_share - node.self_share) < 1e-5 && Math.abs(row.total_share - node.total_share) < 1e-5;
    // A box in brackets stands for code without a row, and a drawing has the hostile `nul\\0bell…` without control characters.
    const hasNoRow = same.length === 0 && /^\[|^(inner )?nul /.test(node.name);
    assert.ok(hasNoRow || same.some(isNear), `the box ${node.name} has ${node.total_share}, the report ${same.map((row) => row.total_share)}`);
  }
  return { graph: [["all", drawn]], functions: keyed(drawn.nodes, (node) => `${node.name} ${node.file}`) };
}
