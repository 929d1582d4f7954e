// What the command says of memory: `report allocs`, `report memory`, and who held memory at a moment.

import { report } from "../harness/command.mjs";
import { functionKey, keyed } from "./sampled.mjs";

const placeKey = ({ at }) => functionKey(at);
/** The page shows so many rows of a table. */
const shown = (rows) => ["all", { length: Math.min(rows.length, 2000) }];

export async function memory({ file, filter, page, values, about }) {
  const { memory } = about.has.gauges ? report(file, "memory", filter) : { memory: [] };
  const { allocations } = about.has.memory ? report(file, "allocs", filter, ["--limit", "2000"]) : { allocations: null };
  const tables = { memory: keyed(memory, (row) => row.process), looks: keyed(memory.flatMap((row) => row.looks), (row) => row.at_seconds) };
  if (allocations !== null) {
    const { total, peaks, copied, lines, functions, types, threads, processes, leaks, copies, unreachable } = allocations;
    Object.assign(tables, {
      allocations: [["all", allocations], ["total", total], ["peak", { ...total, ...peaks[0] }], ["copied", copied]],
      memory_lines: [shown(lines), ...keyed(lines, placeKey)],
      memory_functions: [shown(functions), ...keyed(functions, placeKey)],
      memory_threads: keyed(threads, (row) => row.thread),
      memory_processes: keyed(processes, (row) => row.pid ?? ""),
      types: keyed(types, (row) => `${row.type ?? "[unknown]"}${row.is_growing_buffer ? ", a buffer that grew" : ""}`),
      leaks: keyed(leaks, placeKey),
      copies: keyed(copies, placeKey),
      unreachable: keyed(unreachable.lines, placeKey),
    });
  }
  if (values.table === "stacks") {
    const found = await page.ask("memory_stacks", { filter, limit: 500 });
    tables.memory_stacks = [["all", found], ...keyed(found.stacks, (row) => row.stack.join(" "))];
  }
  if (values.at !== undefined) {
    const held = await page.ask("held", { filter, at: values.at, limit: 500 });
    Object.assign(tables, { held: [["all", held]], held_lines: keyed(held.lines, functionKey), held_functions: keyed(held.functions, functionKey) });
  }
  return tables;
}
