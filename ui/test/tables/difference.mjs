// What `profundo diff BEFORE AFTER --json` says, and the boxes of both flame graphs in one.

import assert from "node:assert/strict";

import { json, optionsOf } from "../harness/command.mjs";
import { keyed, weighed } from "./sampled.mjs";

const COLUMNS = ["before", "own_before", "after", "own_after", "change", "low", "high"];

export async function difference({ files, filter, values, page }) {
  const { of, count, widths, state, total } = values;
  const found = json(["diff", ...files, "--limit", "2000", ...weighed(values), ...optionsOf(filter)]);
  // The page also has the rows that the command leaves out: those whose change may be chance.
  const answer = await page.ask("diff", { filter, of, count, all: 1, limit: 2000 });
  const side = total === "1" ? "total_changed" : "self_changed";
  const tables = answer.tables.map(({ by, rows, rows_left_out }) => {
    const printed = found.tables.find((table) => table.by === by).rows;
    for (const row of printed) {
      assert.ok(rows.some((known) => JSON.stringify(known) === JSON.stringify(row)), `the page's answer has another row ${by} ${row.name}`);
    }
    const shown = rows.filter((row) => state === "every" || row[side]);
    return [by, [["all", { rows: rows.length + rows_left_out, rows_shown: shown.length }], ...keyed(rows, (row) => row.name)]];
  });
  const { boxes } = await page.ask("diff_flame", { filter, of, count, widths });
  const box = (at) => Object.fromEntries(COLUMNS.map((is) => [is, boxes[is][at]]));
  return {
    difference: [["all", found], ["whole", found.whole]],
    runs: keyed([...found.before, ...found.after], (row) => row.name),
    boxes: boxes.path.map((path, at) => [String(path), box(at)]),
    ...Object.fromEntries(tables),
  };
}
