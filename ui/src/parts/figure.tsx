// A number of a report on the page, with the member that it comes from. So a test can read it back
// and compare it with what the command prints: rows have `data-row`, tables `data-table`.

import { formatted, memberOf } from "../numbers";

/** A member of a row, as text. A member that is not there has none. */
export function Figure({ row, is, title }: { row: object; is: string; title?: string }) {
  const value = (row as Record<string, unknown>)[is];
  return typeof value !== "number" ? null : (
    <span data-number={value} data-is={is} title={title}>
      {formatted(value, is)}
    </span>
  );
}

/** What the samples of a row weigh: seconds, bytes, blocks or copies. */
export function Amount({ row, prefix = "" }: { row: object; prefix?: string }) {
  const is = memberOf(row, prefix);
  return is === undefined ? null : <Figure row={row} is={is} />;
}

/** A function as the key of its row. */
export function functionKey(row: { function?: string | null; file?: string | null; line?: number | null }): string {
  return `${row.function ?? ""} ${row.file ?? ""}:${row.line ?? ""}`;
}
