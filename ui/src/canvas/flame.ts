// Draws boxes in rows on a canvas, and knows which box is where.
//
// Only the rows and the boxes in the window are drawn: rows are sorted, so the first one is found by
// halving. Boxes of less than half a pixel are drawn as one where they touch.

import type { Picture } from "./picture";
import { nameOf, NARROW } from "./picture";

export const ROW = 20;
const GAP = 1;
/** Boxes with less width have no words. */
const WORDS = 28;

export interface Theme {
  ground: string;
  ink: string;
  softInk: string;
  line: string;
  mark: string;
}

export class FlameCanvas {
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
  /** The time that the last frame took, in milliseconds. */
  lastFrame = 0;
  private isAsked = false;
  private width = 0;
  private height = 0;

  constructor(readonly canvas: HTMLCanvasElement) {}

  show(picture: Picture): void {
    this.picture = picture;
    this.from = 0;
    this.to = picture.width;
    this.top = 0;
    this.hovered = -1;
    this.selected = -1;
    this.draw();
  }

  resize(width: number, height: number): void {
    const scale = devicePixelRatio || 1;
    this.width = width;
    this.height = height;
    this.canvas.width = Math.round(width * scale);
    this.canvas.height = Math.round(height * scale);
    this.canvas.style.width = `${width}px`;
    this.canvas.style.height = `${height}px`;
    this.draw();
  }

  /** Draws with the next frame of the screen. */
  draw(): void {
    if (!this.isAsked) {
      this.isAsked = true;
      requestAnimationFrame(() => {
        this.isAsked = false;
        const began = performance.now();
        this.paint();
        this.lastFrame = performance.now() - began;
      });
    }
  }

  private y(level: number): number {
    const row = level - this.top;
    return this.isIcicle ? row * ROW : this.height - (row + 1) * ROW;
  }

  private paint(): void {
    const context = this.canvas.getContext("2d");
    const picture = this.picture;
    if (context === null) {
      return;
    }
    const scale = devicePixelRatio || 1;
    context.setTransform(scale, 0, 0, scale, 0, 0);
    context.fillStyle = this.theme.ground;
    context.fillRect(0, 0, this.width, this.height);
    if (picture === undefined || picture.width === 0) {
      return;
    }
    context.font = "12px ui-monospace, SFMono-Regular, Menlo, Consolas, monospace";
    context.textBaseline = "middle";
    const letter = context.measureText("0").width;
    const perPixel = (this.to - this.from) / this.width;
    const isSearch = this.found.length > 0;
    const { boxes, start, extent, rows } = picture;
    const last = Math.min(rows.length, this.top + Math.ceil(this.height / ROW) + 1);
    for (let level = Math.max(0, this.top); level < last; level++) {
      const row = rows[level];
      const y = this.y(level);
      let at = this.first(level);
      while (at < row.length) {
        const box = row[at];
        const left = (start[box] - this.from) / perPixel;
        if (left >= this.width) {
          break;
        }
        const right = (start[box] + extent[box] - this.from) / perPixel;
        at += 1;
        if (right <= 0) {
          continue;
        }
        const isFaint = isSearch && this.found[box] === 0;
        context.globalAlpha = isFaint ? 0.3 : 1;
        const x = Math.max(0, left);
        let width = Math.min(this.width, right) - x;
        if (width < 0.5) {
          // What touches this box and is as narrow becomes one with it.
          let end = right;
          while (at < row.length) {
            const next = (start[row[at]] - this.from) / perPixel;
            const nextEnd = (start[row[at]] + extent[row[at]] - this.from) / perPixel;
            if (next - end > 0.5 || nextEnd - next >= 0.5) {
              break;
            }
            end = nextEnd;
            at += 1;
          }
          width = Math.max(0.5, end - x);
        }
        context.fillStyle = this.fills[box] ?? "#ccc";
        const gap = width > 3 ? GAP : 0;
        context.fillRect(x, y, width - gap, ROW - GAP);
        if (boxes.function[box] === NARROW && width > 6) {
          this.hatch(context, x, y, width - gap);
        }
        if (width > WORDS) {
          this.write(context, picture, box, x, y, width, letter);
        }
        context.globalAlpha = 1;
      }
    }
    this.outline(context, this.hovered, perPixel, 1);
    this.outline(context, this.selected, perPixel, 2);
  }

  /** The first box of a level that ends right of the window's left edge. */
  private first(level: number): number {
    const picture = this.picture as Picture;
    const row = picture.rows[level];
    let [low, high] = [0, row.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      const box = row[middle];
      if (picture.start[box] + picture.extent[box] <= this.from) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low;
  }

  private write(context: CanvasRenderingContext2D, picture: Picture, box: number, x: number, y: number, width: number, letter: number): void {
    const room = Math.floor((width - 8) / letter);
    const name = nameOf(picture, box);
    context.fillStyle = this.theme.ink;
    const shown = name.length <= room ? name : room >= 3 ? `${name.slice(0, room - 1)}…` : "";
    context.fillText(shown, x + 4, y + ROW / 2);
    const row = picture.boxes.function[box];
    if (row >= 0 && name.length + 6 < room) {
      const file = picture.flame.functions.file[row];
      const place = file.slice(file.lastIndexOf("/") + 1) + (picture.boxes.line[box] > 0 ? `:${picture.boxes.line[box]}` : "");
      if (place !== "" && name.length + 2 + place.length <= room) {
        context.fillStyle = this.theme.softInk;
        context.fillText(place, x + 4 + (name.length + 2) * letter, y + ROW / 2);
      }
    }
  }

  private hatch(context: CanvasRenderingContext2D, x: number, y: number, width: number): void {
    context.strokeStyle = this.theme.line;
    context.lineWidth = 1;
    context.save();
    context.beginPath();
    context.rect(x, y, width, ROW - GAP);
    context.clip();
    context.beginPath();
    for (let left = x - ROW; left < x + width; left += 6) {
      context.moveTo(left, y + ROW);
      context.lineTo(left + ROW, y);
    }
    context.stroke();
    context.restore();
  }

  private outline(context: CanvasRenderingContext2D, box: number, perPixel: number, width: number): void {
    const picture = this.picture;
    if (box < 0 || picture === undefined) {
      return;
    }
    const left = Math.max(0, (picture.start[box] - this.from) / perPixel);
    const right = Math.min(this.width, (picture.start[box] + picture.extent[box] - this.from) / perPixel);
    const y = this.y(picture.boxes.level[box]);
    context.strokeStyle = this.theme.mark;
    context.lineWidth = width;
    context.strokeRect(left + width / 2, y + width / 2, Math.max(1, right - left - width - GAP), ROW - GAP - width);
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
  private carry = 0;

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
