// The columns of amounts that all tables of memory share, and the same in words.

import { Ends, Figure } from "../../parts/figure";
import { Bytes } from "../../parts/range";
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
    cell: (row) => <span class="soft"><Ends row={row} is="allocated_bytes" /></span>,
    width: "11em",
  },
  { title: "Blocks", about: "How many blocks", order: (row) => row.allocated_blocks, cell: (row) => <Figure row={row} is="allocated_blocks" />, isNumber: true, width: "7.4em" },
  size("Live", "live_bytes", "Not freed when the program began to end"),
  size("At peak", "peak_bytes", "Live when the process had most"),
  size("Temporary", "temporary_bytes", "Freed before its thread allocated anything else"),
  {
    title: "Lifetime",
    about: "How long a block lived, on average",
    order: (row) => row.lifetime_seconds ?? 0,
    cell: (row) => <Figure row={row} is="lifetime_seconds" />,
    isNumber: true,
    width: "6em",
  },
];

/** The columns; exact amounts have no range. */
export const amounts = <T extends Amounts>(isExact: boolean): Column<T>[] =>
  (isExact ? COLUMNS.filter(({ title }) => title !== "Range") : COLUMNS) as unknown as Column<T>[];

export function AmountWords({ row, words }: { row: Amounts; words: string }) {
  const ranged = (is: keyof Amounts & `${string}_bytes`) => (
    <>
      <Figure row={row} is={is} />
      {typeof (row as object as Record<string, unknown>)[`${is}_low`] === "number" && <> (<Ends row={row} is={is} />)</>}
    </>
  );
  return (
    <>
      <b>{words}</b> · allocated {ranged("allocated_bytes")} in <Figure row={row} is="allocated_blocks" /> blocks · live {ranged("live_bytes")} · at the peak{" "}
      {ranged("peak_bytes")} · temporary {ranged("temporary_bytes")}
      {row.lifetime_seconds !== null && <> · a block lived <Figure row={row} is="lifetime_seconds" /> on average</>}
    </>
  );
}
