// Draws the squares of a heatmap: columns from left to right, and the start of each at the bottom.

import type { Pen } from "./pen";
import { Sheet } from "./sheet";
import type { Span } from "./strip";

/** The answer to `heatmap`: cells column by column. */
export interface Heatmap {
  start: number;
  column: number;
  row: number;
  columns: number;
  rows: number;
  busy: number[];
  waiting: number[];
  samples: number[];
  hottest: number[];
  hottest_time: number[];
  functions: string[];
  most_busy: number;
  most: number;
  covered: [number, number];
  uncovered: number;
  idle_threads: number;
  idle_waiting: number;
  pauses: [from: number, time: number][];
  pauses_count: number;
}

interface Size {
  width: number;
  height: number;
}

/** The room for words: hours, minutes and seconds below, offsets at the left. */
const LEFT = 46;
const BELOW = 20;

/** Lightness grows or falls evenly, so the order is seen without colour. */
const LIGHT: [number, number, number][] = [[246, 243, 220], [241, 206, 158], [238, 134, 86], [176, 39, 40], [84, 12, 40]];
const DARK: [number, number, number][] = [[33, 36, 42], [89, 53, 17], [168, 70, 20], [240, 128, 98], [255, 224, 178]];

/** The place of squares in a canvas. */
function frame(map: Heatmap, size: Size) {
  const width = Math.max(1, size.width - LEFT);
  const height = Math.max(1, size.height - BELOW);
  // A few columns do not fill the page.
  const column = Math.min(width / map.columns, 60);
  return { column, row: height / map.rows, height };
}

/** The start and the end of a square. */
export function timesOf(map: Heatmap, cell: number): Span {
  const column = Math.floor(cell / map.rows);
  const start = map.start + column * map.column;
  const from = start + (cell % map.rows) * map.row;
  return { from, to: Math.min(from + map.row, start + map.column) };
}

/** The squares of a span of time. */
export function cellsOf(map: Heatmap, span: Span): number[] {
  const cells: number[] = [];
  const at = (time: number) => {
    const column = Math.floor((time - map.start) / map.column);
    return column * map.rows + Math.floor((time - map.start - column * map.column) / map.row);
  };
  for (let cell = Math.max(0, at(span.from)); cell < map.columns * map.rows && timesOf(map, cell).from < span.to; cell++) {
    cells.push(cell);
  }
  return cells;
}

/** The square at a point; -1 for none. */
export function squareAt(map: Heatmap, x: number, y: number, size: Size): number {
  const { column, row, height } = frame(map, size);
  const [at, up] = [Math.floor((x - LEFT) / column), Math.floor((height - y) / row)];
  return at >= 0 && at < map.columns && up >= 0 && up < map.rows ? at * map.rows + up : -1;
}

/** The column whose time is written at a point, below the squares; -1 for none. */
export function columnAt(map: Heatmap, x: number, y: number, size: Size): number {
  const { column, height } = frame(map, size);
  const at = Math.floor((x - LEFT) / column);
  return y >= height && at >= 0 && at < map.columns ? at : -1;
}

export interface HeatShown {
  map: Heatmap;
  values: number[];
  most: number;
  isDark: boolean;
  cursor: number;
  /** The square where a choice of several began; -1 for none. */
  anchor: number;
  chosen: Span[];
  ink: string;
  ground: string;
}

export class HeatCanvas extends Sheet {
  private shown: HeatShown | undefined;
  /** The squares, painted once: the cursor only draws a frame over them. */
  private readonly squares = document.createElement("canvas");
  private painted: HeatShown | undefined;

  get size(): Size {
    return { width: this.width, height: this.height };
  }

  override resize(width: number, height: number): void {
    this.painted = undefined;
    super.resize(width, height);
  }

  show(shown: HeatShown): void {
    this.shown = shown;
    this.draw();
  }

  protected override paintNow(): void {
    const context = this.canvas.getContext("2d");
    const shown = this.shown;
    if (context === null || shown === undefined) {
      return;
    }
    const last = this.painted;
    const scale = devicePixelRatio || 1;
    if (last === undefined || last.map !== shown.map || last.values !== shown.values || last.isDark !== shown.isDark || last.ground !== shown.ground) {
      this.squares.width = this.canvas.width;
      this.squares.height = this.canvas.height;
      const below = this.squares.getContext("2d");
      below?.setTransform(scale, 0, 0, scale, 0, 0);
      if (below !== null) {
        this.paintSquares(below, shown);
      }
      this.painted = shown;
    }
    context.setTransform(1, 0, 0, 1, 0, 0);
    // A window without any room has no squares.
    if (this.squares.width > 0 && this.squares.height > 0) {
      context.drawImage(this.squares, 0, 0);
    }
    context.setTransform(scale, 0, 0, scale, 0, 0);
    this.paintFrames(context, shown);
  }

  protected paint(pen: Pen): void {
    if (this.shown !== undefined) {
      this.paintSquares(pen, this.shown);
      this.paintFrames(pen, { ...this.shown, cursor: -1 });
    }
  }

  /** The frames of the cursor and of what is chosen. */
  private paintFrames(pen: Pen, shown: HeatShown): void {
    const { map } = shown;
    const { column, row, height } = frame(map, this.size);
    const frameOf = (cells: number[], line: number, dashes: number[], name = "") => {
      // The squares of each column are one frame.
      for (let first = 0; first < cells.length; ) {
        const at = Math.floor(cells[first] / map.rows);
        let last = first;
        while (last + 1 < cells.length && Math.floor(cells[last + 1] / map.rows) === at) {
          last += 1;
        }
        const y = height - ((cells[last] % map.rows) + 1) * row;
        const area = [LEFT + at * column, y, column, (last - first + 1) * row] as const;
        // Squares are light and dark: the ground beside the line makes it seen on both.
        this.outline(pen, shown.ground, ...area, line + 2, []);
        this.outline(pen, shown.ink, ...area, line, dashes);
        if (first === 0 && name !== "") {
          this.label(pen, shown, name, LEFT + (at + 1) * column + 3, y + 6);
        }
        first = last + 1;
      }
    };
    const names = shown.chosen.length > 1 ? ["A", "B"] : [];
    shown.chosen.forEach((span, at) => frameOf(cellsOf(map, span), 2, at === 0 ? [] : [4, 2], names[at]));
    if (shown.cursor >= 0) {
      const [low, high] = shown.anchor < 0 ? [shown.cursor, shown.cursor] : [Math.min(shown.anchor, shown.cursor), Math.max(shown.anchor, shown.cursor)];
      frameOf(Array.from({ length: high - low + 1 }, (_, at) => low + at), shown.anchor < 0 ? 1 : 2, []);
    }
  }

  /** A letter beside a frame, on the ground of the page. */
  private label(pen: Pen, { ink, ground }: HeatShown, name: string, x: number, y: number): void {
    pen.font = "600 12px system-ui, sans-serif";
    pen.textBaseline = "middle";
    pen.textAlign = "left";
    const left = Math.min(x, this.width - 14);
    pen.fillStyle = ground;
    pen.fillRect(left - 2, y - 8, 14, 16);
    pen.fillStyle = ink;
    pen.fillText(name, left + 1, y);
  }

  private paintSquares(pen: Pen, shown: HeatShown): void {
    pen.fillStyle = shown.ground;
    pen.fillRect(0, 0, this.width, this.height);
    const { map, values, most, isDark } = shown;
    const { column, row, height } = frame(map, this.size);
    const [gapX, gapY] = [column > 4 ? 1 : 0, row > 4 ? 1 : 0];
    for (let cell = 0; cell < values.length; cell++) {
      const { from, to } = timesOf(map, cell);
      if (to <= map.covered[0] || from >= map.covered[1]) {
        continue;
      }
      const x = LEFT + Math.floor(cell / map.rows) * column;
      const y = height - ((cell % map.rows) + 1) * row;
      pen.fillStyle = heat(values[cell] / (most || 1), isDark);
      pen.fillRect(x, y, column - gapX + (gapX === 0 ? 0.5 : 0), row - gapY + (gapY === 0 ? 0.5 : 0));
    }
    this.axes(pen, shown, column, row, height);
  }

  private outline(pen: Pen, ink: string, x: number, y: number, width: number, height: number, line: number, dashes: number[]): void {
    pen.strokeStyle = ink;
    pen.lineWidth = line;
    pen.setLineDash(dashes);
    pen.strokeRect(x - 1, y - 1, Math.max(3, width) + 1, Math.max(3, height) + 1);
    pen.setLineDash([]);
  }

  private axes(pen: Pen, { map, ink }: HeatShown, column: number, row: number, height: number): void {
    pen.fillStyle = ink;
    pen.globalAlpha = 0.75;
    pen.font = "11px system-ui, sans-serif";
    pen.textBaseline = "middle";
    pen.textAlign = "right";
    const least = map.rows / Math.max(1, height / 36);
    const every = [1, 2, 5, 10, 20, 50, 100, 200, 500].find((step) => step >= least) ?? map.rows;
    for (let at = 0; at < map.rows; at += every) {
      const y = height - (at + 0.5) * row;
      if (y > 7) {
        pen.fillText(short(at * map.row), LEFT - 6, y);
      }
    }
    pen.textAlign = "left";
    const widest = Math.ceil(64 / column);
    const apart = [1, 2, 5, 10, 15, 20, 30, 60, 100, 120, 300, 600].find((step) => step >= widest) ?? widest;
    for (let at = 0; at < map.columns; at += apart) {
      pen.fillText(short(map.start + at * map.column), LEFT + at * column, height + BELOW / 2);
    }
    pen.globalAlpha = 1;
  }
}

function short(time: number): string {
  const seconds = time / 1e9;
  return seconds >= 1 || seconds === 0 ? `${Number(seconds.toFixed(2))} s` : `${Number((seconds * 1e3).toFixed(1))} ms`;
}

function heat(part: number, isDark: boolean): string {
  const steps = isDark ? DARK : LIGHT;
  const at = Math.min(1, Math.max(0, part)) * (steps.length - 1);
  const low = Math.min(steps.length - 2, Math.floor(at));
  const mix = steps[low].map((value, part) => Math.round(value + (steps[low + 1][part] - value) * (at - low)));
  return `rgb(${mix.join(",")})`;
}
