// The columns of amounts that all tables of memory share, and the same in words.

import { bytes, count, duration } from "../../numbers";
import { Bytes, range } from "../../parts/range";
import type { Column } from "../../parts/table";
import type { Held } from "../../reports";

/** An amount of memory: all that was allocated, and what became of it. */
export type Amounts = Omit<Held, "samples" | "python_share" | "native_share" | "mapped_share">;

const size = (title: string, name: keyof Amounts & string, about: string): Column<Amounts> => ({
  title,
  about,
  order: (row) => row[name] as number,
  cell: (row) => <Bytes row={row} name={name} />,
  isNumber: true,
  width: "7.4em",
});

const COLUMNS: Column<Amounts>[] = [
  size("Allocated", "allocated_bytes", "All that was allocated, freed or not"),
  {
    title: "Range",
    about: "It holds the true value 95 times in 100; none where it is exact",
    cell: (row) => <span class="soft">{range(row, "allocated_bytes")}</span>,
    width: "11em",
  },
  { title: "Blocks", about: "How many blocks", order: (row) => row.allocated_blocks, cell: (row) => count(row.allocated_blocks), isNumber: true, width: "6.5em" },
  size("Live", "live_bytes", "Not freed when the program began to end"),
  size("At peak", "peak_bytes", "Live when the process had most"),
  size("Temporary", "temporary_bytes", "Freed before its thread allocated anything else"),
  {
    title: "Lifetime",
    about: "How long a block lived, on average",
    order: (row) => row.lifetime_seconds ?? 0,
    cell: (row) => (row.lifetime_seconds === null ? "" : duration(row.lifetime_seconds)),
    isNumber: true,
    width: "6em",
  },
];

/** The columns; exact amounts have no range. */
export const amounts = <T extends Amounts>(isExact: boolean): Column<T>[] =>
  (isExact ? COLUMNS.filter(({ title }) => title !== "Range") : COLUMNS) as unknown as Column<T>[];

export function AmountWords({ row, words }: { row: Amounts; words: string }) {
  const withRange = (name: string) => (range(row, name) === "" ? "" : ` (${range(row, name)})`);
  return (
    <>
      <b>{words}</b> · allocated {bytes(row.allocated_bytes)}
      {withRange("allocated_bytes")} in {count(row.allocated_blocks)} blocks · live {bytes(row.live_bytes)}
      {withRange("live_bytes")} · at the peak {bytes(row.peak_bytes)}
      {withRange("peak_bytes")} · temporary {bytes(row.temporary_bytes)}
      {withRange("temporary_bytes")}
      {row.lifetime_seconds !== null && ` · a block lived ${duration(row.lifetime_seconds)} on average`}
    </>
  );
}
