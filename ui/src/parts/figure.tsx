// A number of a report on the page, with the member that it comes from. So a test can read it back
// and compare it with what the command prints: rows have `data-row`, tables `data-table`.

import { changeIn, formatted, inUnit, memberOf, percent, weight } from "../numbers";

/**
 * A member of a row, as text. A member that is not there has none. The member may be one of a member:
 * `times.python`. `unit` is that of a picture's or a difference's amounts, where the name does not tell it.
 */
export function Figure({ row, is, title, unit, isChange = false }: { row: object; is: string; title?: string; unit?: string; isChange?: boolean }) {
  const value = member(row, is);
  return typeof value !== "number" ? null : (
    <span data-number={value} data-is={is} data-unit={unit} title={title}>
      {unit === undefined ? formatted(value, is) : words(value, unit, isChange)}
    </span>
  );
}

/** What a member of the given name holds, at any depth. */
function member(row: object, is: string): unknown {
  return is.split(".").reduce<unknown>((found, name) => (found as Record<string, unknown> | undefined)?.[name], row);
}

function words(value: number, unit: string, isChange: boolean): string {
  if (unit === "factor") {
    return value.toFixed(3);
  }
  if (unit === "thousandths") {
    return percent(value / 1000);
  }
  if (unit === "time" || unit === "blocks" || unit === "events") {
    return isChange && value > 0 ? `+${weight(value, unit)}` : weight(value, unit);
  }
  return isChange ? changeIn(value, unit) : inUnit(value, unit);
}

/** What the samples of a row weigh: seconds, events, bytes, blocks or copies. */
export function Amount({ row, prefix = "" }: { row: object; prefix?: string }) {
  const is = memberOf(row, prefix);
  return is === undefined ? null : <Figure row={row} is={is} />;
}

/** The ends of a figure's range; nothing for an exact one. */
export function Ends({ row, is, unit, isChange }: { row: object; is: string; unit?: string; isChange?: boolean }) {
  const ends = [member(row, `${is}_low`), member(row, `${is}_high`)];
  return !ends.every((end) => typeof end === "number") ? null : (
    <>
      <Figure row={row} is={`${is}_low`} unit={unit} isChange={isChange} /> {isChange ? "to" : "–"} <Figure row={row} is={`${is}_high`} unit={unit} isChange={isChange} />
    </>
  );
}

/** A function as the key of its row. */
export function functionKey(row: { function?: string | null; file?: string | null; line?: number | null }): string {
  return `${row.function ?? ""} ${row.file ?? ""}:${row.line ?? ""}`;
}

/** The place of a row as its key. */
export function placeKey(row: { at: { function?: string | null; file?: string | null; line?: number | null } | null }): string {
  return functionKey(row.at ?? {});
}

/** How many rows a table shows, of how many there are. */
export function Shown({ table, shown, all }: { table: string; shown: number; all: number }) {
  const row = { rows_shown: shown, rows: all };
  return (
    <span data-table={table} data-row="all">
      <Figure row={row} is="rows_shown" /> of <Figure row={row} is="rows" />
    </span>
  );
}
