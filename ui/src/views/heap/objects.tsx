// Objects in words, and what can be asked about one.

import { Figure } from "../../parts/figure";
import { ShareBar } from "../../parts/range";
import type { Column } from "../../parts/table";
import { change } from "../../place";
import type { GraphObject } from "../../reports";

/** An object's id, as the command takes it: V8 counts its objects, elsewhere it is an address. */
export function idOf(id: number): string {
  return id <= 0xffffffff ? `@${id}` : `@0x${id.toString(16)}`;
}

export type Shown = GraphObject & { owner?: string | null; path?: string | null };

/** Characters of a name that are shown. */
const LONGEST = 90;

/** The object in words: its type, its name where that says more, its id. */
export function objectWords(row: Shown): string {
  const name = row.name !== "" && row.name !== row.type ? ` ${row.name.slice(0, LONGEST)}` : "";
  return `${row.type}${name} ${idOf(row.id)}`;
}

export function ObjectName({ row }: { row: Shown }) {
  const name = row.name !== "" && row.name !== row.type ? row.name.slice(0, LONGEST) : "";
  return (
    <span class="where" title={row.path ?? row.owner ?? ""}>
      <b>{row.type}</b> {name} <span class="soft">{idOf(row.id)}</span>
      {row.path !== null && row.path !== undefined ? <code> {row.path}</code> : row.owner !== null && row.owner !== undefined && <span class="soft"> of {row.owner}</span>}
    </span>
  );
}

/** Shows the ways by which a type's objects, or one object, are held. */
export function showHolders(of: string): void {
  change({ heap: "path", object: of });
}

interface Retaining {
  bytes: number;
  retained_bytes: number;
  retained_share: number;
}

/** The columns of what would go with an object, or with all objects of a type. */
export function retaining<T extends Retaining>(most: number): Column<T>[] {
  return [
    {
      title: "Retained",
      about: "The bytes that would go with it: its own, and those that only it holds",
      order: (row) => row.retained_bytes,
      cell: (row) => <Figure row={row} is="retained_bytes" />,
      isNumber: true,
      width: "7.8em",
    },
    { title: "Share", order: (row) => row.retained_share, cell: (row) => <Figure row={row} is="retained_share" />, isNumber: true, width: "5.5em" },
    { title: "", cell: (row) => <ShareBar share={row.retained_share} of={most} />, width: "6em" },
    { title: "Own", about: "Its own bytes", order: (row) => row.bytes, cell: (row) => <Figure row={row} is="bytes" />, isNumber: true, width: "6.5em" },
  ];
}
