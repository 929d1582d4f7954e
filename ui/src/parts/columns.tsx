// The columns of a listing, which the reader shows and hides. What is shown stands in the address of
// the page; without it, a listing has the columns that leave room for its text.

import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";

import { change, usePlace } from "../place";
import type { Line } from "../reports";

export interface LineColumn {
  /** Its name in the address. */
  name: string;
  title: string;
  about?: string;
  /** The classes of its cells; `extra` is left out on a phone. */
  class?: string;
  /** The table that its numbers are of, if that is not the listing's. */
  table?: string;
  /** Whether it is left out until the reader wants it. */
  isMore?: boolean;
  /** What a line has; `figures` are those of its samples. */
  cell: (line: number, figures: Line | undefined) => ComponentChildren;
  /** What the cell of a line says when it is pointed at. */
  titleOf?: (line: number, figures: Line | undefined) => string | undefined;
}

/** The columns that are shown. */
export function useColumns(columns: LineColumn[]): LineColumn[] {
  const { columns: wanted } = usePlace().values;
  const names = wanted?.split(",");
  if (names === undefined) {
    return columns.filter(({ isMore }) => isMore !== true);
  }
  // What the reader chooses is there on a phone too.
  return columns.filter(({ name }) => names.includes(name)).map((column) => ({ ...column, class: column.class?.replace("extra", "") }));
}

/** The list of columns with a box for each. */
export function ColumnChoice({ columns, shown }: { columns: LineColumn[]; shown: LineColumn[] }) {
  const box = useRef<HTMLDetailsElement>(null);
  useEffect(() => {
    const away = (event: Event) => {
      if (box.current !== null && !box.current.contains(event.target as Node)) {
        box.current.open = false;
      }
    };
    addEventListener("pointerdown", away);
    return () => removeEventListener("pointerdown", away);
  }, []);
  if (columns.length < 2) {
    return null;
  }
  const isShown = ({ name }: LineColumn) => shown.some((column) => column.name === name);
  const toggle = (column: LineColumn) => {
    const names = columns.filter((one) => isShown(one) !== (one === column)).map(({ name }) => name);
    // None at all is a choice too, and has an address.
    change({ columns: names.join(",") || "none" }, false);
  };
  return (
    <details
      class="column-choice"
      ref={box}
      onKeyDown={(event) => {
        if (event.key === "Escape" && box.current?.open) {
          box.current.open = false;
          box.current.querySelector("summary")?.focus();
        }
      }}
    >
      <summary>Columns</summary>
      <fieldset class="menu">
        <legend class="hidden">Columns of the listing</legend>
        {columns.map((column) => (
          <label key={column.name} title={column.about}>
            <input type="checkbox" checked={isShown(column)} onChange={() => toggle(column)} /> {column.title}
          </label>
        ))}
      </fieldset>
    </details>
  );
}
