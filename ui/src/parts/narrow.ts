// Tables on a narrow screen: what a row is about comes first there, else it would be out of sight.

import { useEffect, useState } from "preact/hooks";

import type { Column } from "./table";

const query = matchMedia("(max-width: 720px)");

/** Whether the screen is as narrow as a phone's. */
export function useNarrow(): boolean {
  const [isNarrow, setNarrow] = useState(query.matches);
  useEffect(() => {
    const look = () => setNarrow(query.matches);
    query.addEventListener("change", look);
    return () => query.removeEventListener("change", look);
  }, []);
  return isNarrow;
}

/** The columns with the last one first on a narrow screen, and the place of the column to sort by. */
export function forWidth<T>(isNarrow: boolean, columns: Column<T>[], sortedBy = 0): { columns: Column<T>[]; sortedBy: number } {
  if (!isNarrow || columns.length < 2) {
    return { columns, sortedBy };
  }
  const last = columns[columns.length - 1];
  return { columns: [{ ...last, width: "13em" }, ...columns.slice(0, -1)], sortedBy: sortedBy < 0 ? sortedBy : sortedBy + 1 };
}
