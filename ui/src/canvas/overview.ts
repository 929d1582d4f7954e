// All boxes of a flame graph in a strip, each row a few pixels high, and a frame around what is shown.

import type { Pen } from "./pen";
import type { Picture } from "./picture";
import { Sheet } from "./sheet";
import type { Theme } from "./theme";

/** What is shown of the whole: two parts of its width, the first row, and the number of rows. */
export interface Frame {
  from: number;
  to: number;
  top: number;
  rows: number;
}

export class Overview extends Sheet {
  isIcicle = true;
  theme: Theme = { ground: "#fff", ink: "#111", softInk: "#444", line: "#fff", mark: "#000" };
  private picture: Picture | undefined;
  private fills: string[] = [];
  private frame: Frame | undefined;
  /** The boxes, painted once: a frame that moves is only drawn over them. */
  private readonly boxes = document.createElement("canvas");
  private painted: Picture | undefined;

  show(picture: Picture, fills: string[]): void {
    this.picture = picture;
    this.fills = fills;
    this.painted = undefined;
    this.draw();
  }

  mark(frame: Frame | undefined): void {
    this.frame = frame;
    this.draw();
  }

  override resize(width: number, height: number): void {
    this.painted = undefined;
    super.resize(width, height);
  }

  /** The row at a height. */
  rowAt(y: number): number {
    return (this.isIcicle ? y : this.height - y) / this.row;
  }

  private get row(): number {
    return Math.min(6, this.height / Math.max(1, this.picture?.rows.length ?? 1));
  }

  private y(level: number): number {
    return this.isIcicle ? level * this.row : this.height - (level + 1) * this.row;
  }

  protected override paintNow(): void {
    const context = this.canvas.getContext("2d");
    if (context === null || this.picture === undefined || this.canvas.width === 0 || this.canvas.height === 0) {
      return;
    }
    const scale = devicePixelRatio || 1;
    if (this.painted !== this.picture) {
      this.boxes.width = this.canvas.width;
      this.boxes.height = this.canvas.height;
      const below = this.boxes.getContext("2d");
      if (below !== null) {
        below.setTransform(scale, 0, 0, scale, 0, 0);
        this.paintAll(below, this.picture);
      }
      this.painted = this.picture;
    }
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.drawImage(this.boxes, 0, 0);
    context.setTransform(scale, 0, 0, scale, 0, 0);
    this.paintFrame(context);
  }

  protected paint(pen: Pen): void {
    if (this.picture !== undefined) {
      this.paintAll(pen, this.picture);
      this.paintFrame(pen);
    }
  }

  private paintAll(pen: Pen, picture: Picture): void {
    pen.fillStyle = this.theme.ground;
    pen.fillRect(0, 0, this.width, this.height);
    const perPixel = picture.width / (this.width || 1);
    const gap = this.row > 3 ? 1 : 0;
    picture.rows.forEach((row, level) => {
      const y = this.y(level);
      // A pixel has one colour, so boxes that end in it are not drawn.
      let drawn = -1;
      for (const box of row) {
        const right = (picture.start[box] + picture.extent[box]) / perPixel;
        if (right - drawn < 0.5) {
          continue;
        }
        const left = Math.max(drawn, picture.start[box] / perPixel);
        pen.fillStyle = this.fills[box] ?? "#ccc";
        pen.fillRect(left, y, Math.max(0.5, right - left - (right - left > 3 ? 0.5 : 0)), Math.max(0.5, this.row - gap));
        drawn = right;
      }
    });
  }

  private paintFrame(pen: Pen): void {
    const { frame, theme, width, height } = this;
    if (frame === undefined) {
      return;
    }
    const [left, right] = [frame.from * width, frame.to * width];
    const [first, last] = [frame.top * this.row, (frame.top + frame.rows) * this.row];
    const high = Math.max(6, Math.min(height, last) - first);
    const top = this.isIcicle ? first : height - first - high;
    // What is not shown is paler.
    pen.fillStyle = theme.ground;
    pen.globalAlpha = 0.6;
    pen.fillRect(0, 0, left, height);
    pen.fillRect(right, 0, width - right, height);
    pen.fillRect(left, 0, right - left, top);
    pen.fillRect(left, top + high, right - left, Math.max(0, height - top - high));
    pen.globalAlpha = 1;
    pen.strokeStyle = theme.mark;
    pen.lineWidth = 1.5;
    pen.strokeRect(Math.max(0.75, left), Math.max(0.75, top), Math.max(3, right - left) - 1.5, Math.min(high, height - top) - 1.5);
  }
}
