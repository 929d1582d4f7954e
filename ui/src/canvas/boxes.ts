// Paints boxes in rows: those in the window, with their names as far as there is room.
//
// Only the rows and the boxes in the window are drawn: rows are sorted, so the first one is found by
// halving. Boxes of less than half a pixel are drawn as one where they touch.

import type { Pen } from "./pen";
import type { Picture } from "./picture";
import { nameOf, NARROW } from "./picture";
import { PALE, PALE_WORDS, type Theme } from "./theme";

export const ROW = 20;
const GAP = 1;
/** Boxes with less width have no words. */
const WORDS = 28;

/** What is painted. */
export interface Boxed {
  picture: Picture;
  fills: string[];
  /** By box, whether the search finds it; empty for no search. */
  found: Uint8Array;
  theme: Theme;
  /** The window: its left and its right edge, and the first of its levels. */
  from: number;
  to: number;
  top: number;
  width: number;
  height: number;
  /** The upper edge of a level. */
  y: (level: number) => number;
}

/** The first box of a level that ends right of an edge. */
export function firstRightOf(picture: Picture, level: number, edge: number): number {
  const row = picture.rows[level];
  let [low, high] = [0, row.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    const box = row[middle];
    if (picture.start[box] + picture.extent[box] <= edge) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

/** The letters of a canvas are all as wide as this one: its font has one width. */
const FONT = "12px ui-monospace, SFMono-Regular, Menlo, Consolas, monospace";

export function paintBoxes(pen: Pen, boxed: Boxed): void {
  const { picture, fills, found, theme, from, to, top, width: all, height } = boxed;
  pen.globalAlpha = 1;
  pen.fillStyle = theme.ground;
  pen.fillRect(0, 0, all, height);
  if (picture.width === 0) {
    return;
  }
  pen.font = FONT;
  pen.textBaseline = "middle";
  pen.textAlign = "left";
  const letter = pen.measureText("0").width;
  const perPixel = (to - from) / all;
  const isSearch = found.length > 0;
  const { boxes, start, extent, rows } = picture;
  const last = Math.min(rows.length, top + Math.ceil(height / ROW) + 1);
  let fill = "";
  for (let level = Math.max(0, top); level < last; level++) {
    const row = rows[level];
    const y = boxed.y(level);
    let at = firstRightOf(picture, level, from);
    while (at < row.length) {
      const box = row[at];
      const left = (start[box] - from) / perPixel;
      if (left >= all) {
        break;
      }
      const right = (start[box] + extent[box] - from) / perPixel;
      at += 1;
      if (right <= 0) {
        continue;
      }
      const x = Math.max(0, left);
      let width = Math.min(all, right) - x;
      const isFound = !isSearch || found[box] !== 0;
      if (width < 0.5) {
        // What touches this box and is as narrow becomes one with it, if both are found or neither.
        let end = right;
        while (at < row.length) {
          const next = (start[row[at]] - from) / perPixel;
          const nextEnd = (start[row[at]] + extent[row[at]] - from) / perPixel;
          if (next - end > 0.5 || nextEnd - next >= 0.5 || (isSearch && (found[row[at]] !== 0) !== isFound)) {
            break;
          }
          end = nextEnd;
          at += 1;
        }
        width = Math.max(0.5, end - x);
      }
      if (!isFound) {
        pen.globalAlpha = PALE;
      }
      const wanted = fills[box] ?? "#ccc";
      // To set a colour costs more than to draw a box in it.
      if (wanted !== fill) {
        pen.fillStyle = wanted;
        fill = wanted;
      }
      const gap = width > 3 ? GAP : 0;
      pen.fillRect(x, y, width - gap, ROW - GAP);
      if (width > 6) {
        if (boxes.function[box] === NARROW) {
          hatch(pen, theme.line, x, y, width - gap);
        }
        if (width > WORDS) {
          pen.globalAlpha = isFound ? 1 : PALE_WORDS;
          write(pen, theme, picture, box, x, y, width, letter);
          fill = "";
        }
      }
      if (!isFound) {
        pen.globalAlpha = 1;
      }
    }
  }
}

function write(pen: Pen, theme: Theme, picture: Picture, box: number, x: number, y: number, width: number, letter: number): void {
  const room = Math.floor((width - 8) / letter);
  const name = nameOf(picture, box);
  pen.fillStyle = theme.ink;
  const shown = name.length <= room ? name : room >= 3 ? `${name.slice(0, room - 1)}…` : "";
  pen.fillText(shown, x + 4, y + ROW / 2);
  const row = picture.boxes.function[box];
  if (row >= 0 && name.length + 6 < room) {
    const file = picture.flame.functions.file[row];
    const place = file.slice(file.lastIndexOf("/") + 1) + (picture.boxes.line[box] > 0 ? `:${picture.boxes.line[box]}` : "");
    if (place !== "" && name.length + 2 + place.length <= room) {
      pen.fillStyle = theme.softInk;
      pen.fillText(place, x + 4 + (name.length + 2) * letter, y + ROW / 2);
    }
  }
}

function hatch(pen: Pen, line: string, x: number, y: number, width: number): void {
  pen.strokeStyle = line;
  pen.lineWidth = 1;
  pen.save();
  pen.beginPath();
  pen.rect(x, y, width, ROW - GAP);
  pen.clip();
  pen.beginPath();
  for (let left = x - ROW; left < x + width; left += 6) {
    pen.moveTo(left, y + ROW);
    pen.lineTo(left + ROW, y);
  }
  pen.stroke();
  pen.restore();
}

/** A frame around a box. */
export function outline(pen: Pen, { picture, theme, from, to, width: all, y: top }: Boxed, box: number, width: number): void {
  if (box < 0) {
    return;
  }
  const perPixel = (to - from) / all;
  const left = Math.max(0, (picture.start[box] - from) / perPixel);
  const right = Math.min(all, (picture.start[box] + picture.extent[box] - from) / perPixel);
  const y = top(picture.boxes.level[box]);
  pen.strokeStyle = theme.mark;
  pen.lineWidth = width;
  pen.strokeRect(left + width / 2, y + width / 2, Math.max(1, right - left - width - GAP), ROW - GAP - width);
}
