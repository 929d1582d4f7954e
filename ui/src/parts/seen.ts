// Long lists: only the rows that are seen are on the page, and an empty space stands for the others.
// A shorter list is on the page as a whole, so that the browser finds all of its text.

import type { RefObject } from "preact";
import { useState } from "preact/hooks";

/** The rows of a list that is on the page as a whole. */
const LONG = 2500;
/** Rows beyond those that are seen. */
const MORE = 60;

export interface Seen {
  isLong: boolean;
  first: number;
  last: number;
  onScroll: () => void;
  /** Scrolls a row of a long list into sight. */
  show: (row: number) => void;
}

/** The rows that are on the page: of a long list, those around what is seen. */
export function useSeen(box: RefObject<HTMLElement | null>, rows: number, rowHeight: number): Seen {
  const [top, setTop] = useState(0);
  const isLong = rows > LONG;
  const onScroll = () => isLong && setTop(Math.floor((box.current?.scrollTop ?? 0) / rowHeight / MORE) * MORE);
  const show = (row: number) => {
    const element = box.current;
    if (element !== null && isLong) {
      const [above, below] = [row * rowHeight, (row + 2) * rowHeight - element.clientHeight];
      element.scrollTop = Math.max(Math.min(element.scrollTop, above), below);
      onScroll();
    }
  };
  if (!isLong) {
    return { isLong, first: 0, last: rows, onScroll, show };
  }
  const height = Math.ceil((box.current?.clientHeight ?? 800) / rowHeight);
  return { isLong, first: Math.max(0, Math.min(top, rows) - MORE), last: Math.min(rows, top + height + 2 * MORE), onScroll, show };
}
