// Boxes in rows on a canvas, with the window that is shown of them: which box is where, and how the
// window moves.

import { outline, paintBoxes, ROW, type Boxed } from "./boxes";
import type { Pen } from "./pen";
import type { Picture } from "./picture";
import { Sheet } from "./sheet";
import type { Theme } from "./theme";

export { ROW };

export class FlameCanvas extends Sheet {
  picture: Picture | undefined;
  fills: string[] = [];
  /** By box, whether the search finds it; empty for no search. */
  found: Uint8Array = new Uint8Array(0);
  isIcicle = true;
  hovered = -1;
  selected = -1;
  /** The window: from the left edge, in weights or in time, and the rows that are scrolled away. */
  from = 0;
  to = 1;
  top = 0;
  theme: Theme = { ground: "#fff", ink: "#111", softInk: "#444", line: "#fff", mark: "#000" };
  private carry = 0;

  show(picture: Picture): void {
    this.picture = picture;
    this.from = 0;
    this.to = picture.width;
    this.top = 0;
    this.hovered = -1;
    this.selected = -1;
    this.draw();
  }

  /** The number of rows that there is room for. */
  get room(): number {
    return Math.floor(this.height / ROW);
  }

  private y(level: number): number {
    const row = level - this.top;
    return this.isIcicle ? row * ROW : this.height - (row + 1) * ROW;
  }

  protected paint(pen: Pen): void {
    const { picture, fills, found, theme, from, to, top, width, height } = this;
    if (picture === undefined) {
      return;
    }
    const boxed: Boxed = { picture, fills, found, theme, from, to, top, width, height, y: (level) => this.y(level) };
    paintBoxes(pen, boxed);
    if (picture.width > 0) {
      outline(pen, boxed, this.hovered, 1);
      outline(pen, boxed, this.selected, 2);
    }
  }

  /** The box at a point of the canvas; -1 for none. */
  at(x: number, y: number): number {
    const picture = this.picture;
    if (picture === undefined) {
      return -1;
    }
    const row = this.isIcicle ? Math.floor(y / ROW) : Math.floor((this.height - y) / ROW);
    const level = row + this.top;
    if (level < 0 || level >= picture.rows.length) {
      return -1;
    }
    const weight = this.from + (x * (this.to - this.from)) / this.width;
    const boxes = picture.rows[level];
    let [low, high] = [0, boxes.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (picture.start[boxes[middle]] <= weight) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    const box = boxes[low - 1];
    return box !== undefined && weight < picture.start[box] + picture.extent[box] ? box : -1;
  }

  /** Moves the window by pixels. */
  pan(x: number, y: number): void {
    const picture = this.picture;
    if (picture === undefined) {
      return;
    }
    const span = this.to - this.from;
    const moved = Math.max(0, Math.min(picture.width - span, this.from - (x * span) / this.width));
    this.from = moved;
    this.to = moved + span;
    this.scroll(this.isIcicle ? -y / ROW : y / ROW);
  }

  /** Scrolls by rows, away from the root for positive numbers. */
  scroll(rows: number): void {
    const picture = this.picture;
    if (picture !== undefined) {
      this.carry += rows;
      const whole = Math.trunc(this.carry);
      this.carry -= whole;
      const most = Math.max(0, picture.rows.length - Math.floor(this.height / ROW));
      this.top = Math.max(0, Math.min(most, this.top + whole));
    }
    this.draw();
  }
  /** Widens or narrows the window around a point. */
  zoom(factor: number, x: number): void {
    const picture = this.picture;
    if (picture === undefined) {
      return;
    }
    const middle = this.from + (x * (this.to - this.from)) / this.width;
    const span = Math.max(picture.width / 1e6, Math.min(picture.width, (this.to - this.from) * factor));
    const from = Math.max(0, Math.min(picture.width - span, middle - (x / this.width) * span));
    this.from = from;
    this.to = from + span;
    this.draw();
  }

  /** Makes a box as wide as the window. */
  zoomTo(box: number): void {
    const picture = this.picture;
    if (picture !== undefined && box >= 0) {
      this.from = picture.start[box];
      this.to = picture.start[box] + picture.extent[box];
      this.draw();
    }
  }

  /** Scrolls until a box is in the window. */
  reveal(box: number): void {
    const picture = this.picture;
    if (picture === undefined || box < 0) {
      return;
    }
    const level = picture.boxes.level[box];
    const rows = Math.floor(this.height / ROW);
    if (level < this.top) {
      this.top = level;
    } else if (level >= this.top + rows) {
      this.top = level - rows + 1;
    }
    const [start, end] = [picture.start[box], picture.start[box] + picture.extent[box]];
    const span = this.to - this.from;
    if (end <= this.from || start >= this.to) {
      const from = Math.max(0, Math.min(picture.width - span, (start + end - span) / 2));
      this.from = from;
      this.to = from + span;
    }
    this.draw();
  }
}
