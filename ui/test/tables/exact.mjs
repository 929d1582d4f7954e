// What the command says of what was counted: calls, lines and exceptions.

import { report } from "../harness/command.mjs";
import { counted as rowsOf, functionKey, keyed } from "./sampled.mjs";

export function calls({ file, filter }) {
  const [group] = report(file, "trace", filter, ["--limit", "20000"]).groups;
  const neighbours = group.functions.flatMap(({ name, callers, callees }) => [
    [`callers of ${name}`, [["all", callers], ...keyed(callers, (row) => row.name)]],
    [`callees of ${name}`, [["all", callees], ...keyed(callees, (row) => row.name)]],
  ]);
  return { calls: [rowsOf(group.functions), ["whole", group.all], ...keyed(group.functions, (row) => row.name)], ...Object.fromEntries(neighbours) };
}

export function countedLines({ file, filter }) {
  const { functions } = report(file, "lines", filter, ["--limit", "20000"]);
  return {
    counted: [rowsOf(functions), ...keyed(functions, functionKey)],
    counted_lines: functions.flatMap((of) => keyed(of.lines, (row) => `${of.file ?? ""}:${row.line}`)),
  };
}

export function exceptions({ file, filter }) {
  const found = report(file, "exceptions", filter, ["--limit", "5000"]);
  const key = ({ type, raised_by, caught_by, end }) =>
    `${type} ${raised_by.file ?? ""}:${raised_by.line ?? ""} ${caught_by?.file ?? end}:${caught_by?.line ?? ""}`;
  return { exceptions: [["all", found], ...keyed(found.exceptions, key)] };
}
