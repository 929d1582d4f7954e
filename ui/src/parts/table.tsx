// A table that can be sorted. Only the rows on the screen are in the page, so that a hundred
// thousand rows scroll as ten do.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { ComponentChildren } from "preact";

export interface Column<T> {
  title: string;
  /** A sentence that says what the column is. */
  about?: string;
  /** By what rows are ordered, the largest first for numbers. */
  order?: (row: T) => number | string;
  cell: (row: T) => ComponentChildren;
  isNumber?: boolean;
  /** Left out on a phone. */
  isExtra?: boolean;
  width?: string;
}

const classOf = ({ isNumber, isExtra }: { isNumber?: boolean; isExtra?: boolean }) => `${isNumber ? "number" : ""}${isExtra ? " extra" : ""}`;

const HEIGHT = 26;
const MORE = 12;

export function Table<T>({
  rows,
  columns,
  label,
  name,
  keyOf,
  sortedBy = 0,
  onPoint,
  onChoose,
  chosen,
}: {
  rows: T[];
  columns: Column<T>[];
  label: string;
  /** The name of the table and the keys of its rows, for whoever reads its numbers back. */
  name?: string;
  keyOf?: (row: T) => string;
  sortedBy?: number;
  onPoint?: (row: T) => void;
  onChoose?: (row: T) => void;
  chosen?: (row: T) => boolean;
}) {
  const [sort, setSort] = useState({ column: sortedBy, isReversed: false });
  const [top, setTop] = useState(0);
  const [height, setHeight] = useState(600);
  const [at, setAt] = useState(0);
  const box = useRef<HTMLDivElement>(null);
  const sorted = useMemo(() => {
    const order = columns[sort.column]?.order;
    if (order === undefined) {
      return rows;
    }
    const keyed = rows.map((row, place) => ({ row, place, key: order(row) }));
    keyed.sort((a, b) => {
      const way =
        typeof a.key === "number" && typeof b.key === "number"
          ? b.key - a.key
          : String(a.key).localeCompare(String(b.key));
      return (sort.isReversed ? -way : way) || a.place - b.place;
    });
    return keyed.map(({ row }) => row);
  }, [rows, sort]);
  useEffect(() => {
    const element = box.current;
    if (element === null) {
      return;
    }
    const observer = new ResizeObserver(() => setHeight(element.clientHeight));
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  const first = Math.max(0, Math.floor(top / HEIGHT) - MORE);
  const last = Math.min(sorted.length, Math.ceil((top + height) / HEIGHT) + MORE);
  const move = (to: number) => {
    const place = Math.max(0, Math.min(sorted.length - 1, to));
    setAt(place);
    onPoint?.(sorted[place]);
    const element = box.current;
    if (element !== null) {
      const y = place * HEIGHT;
      if (y < element.scrollTop) {
        element.scrollTop = y;
      } else if (y + 2 * HEIGHT > element.scrollTop + element.clientHeight) {
        element.scrollTop = y + 2 * HEIGHT - element.clientHeight;
      }
    }
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const page = Math.max(1, Math.floor(height / HEIGHT) - 2);
    const steps: Record<string, number> = {
      ArrowDown: at + 1,
      ArrowUp: at - 1,
      PageDown: at + page,
      PageUp: at - page,
      Home: 0,
      End: sorted.length - 1,
    };
    if (event.key in steps) {
      event.preventDefault();
      move(steps[event.key]);
    } else if (event.key === "Enter" && sorted[at] !== undefined) {
      onChoose?.(sorted[at]);
    }
  };
  return (
    <div
      class="table"
      ref={box}
      tabIndex={0}
      role="region"
      aria-label={label}
      onKeyDown={onKeyDown}
      onScroll={(event) => setTop(event.currentTarget.scrollTop)}
    >
      <table data-table={name} aria-rowcount={sorted.length + 1}>
        <thead>
          <tr>
            {columns.map((column, place) => (
              <th
                key={place}
                scope="col"
                title={column.about}
                style={column.width === undefined ? undefined : { width: column.width }}
                class={classOf(column)}
                aria-sort={sort.column !== place ? "none" : sort.isReversed ? "ascending" : "descending"}
              >
                {column.order === undefined ? (
                  column.title
                ) : (
                  <button
                    type="button"
                    onClick={() =>
                      setSort({ column: place, isReversed: sort.column === place && !sort.isReversed })
                    }
                  >
                    {column.title}
                    {sort.column === place ? (sort.isReversed ? " ▴" : " ▾") : ""}
                  </button>
                )}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {first > 0 && <tr style={{ height: `${first * HEIGHT}px` }} aria-hidden="true" />}
          {sorted.slice(first, last).map((row, place) => (
            <tr
              key={first + place}
              data-row={keyOf?.(row)}
              aria-rowindex={first + place + 2}
              class={(chosen?.(row) ? "chosen " : "") + (first + place === at ? "at" : "")}
              onMouseEnter={() => onPoint?.(row)}
              onClick={() => {
                setAt(first + place);
                onChoose?.(row);
              }}
            >
              {columns.map((column, number) => (
                <td key={number} class={classOf(column)}>
                  {column.cell(row)}
                </td>
              ))}
            </tr>
          ))}
          {last < sorted.length && (
            <tr style={{ height: `${(sorted.length - last) * HEIGHT}px` }} aria-hidden="true" />
          )}
        </tbody>
      </table>
    </div>
  );
}
