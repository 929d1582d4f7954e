// Draws the squares of a heatmap: columns from left to right, and the start of each at the bottom.

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

export class HeatCanvas {
  size: Size = { width: 1, height: 1 };
  private shown: HeatShown | undefined;
  private isAsked = false;
  /** The squares, painted once: the cursor only draws a frame over them. */
  private readonly squares = document.createElement("canvas");
  private painted: HeatShown | undefined;

  constructor(readonly canvas: HTMLCanvasElement) {}

  resize(width: number, height: number): void {
    const scale = devicePixelRatio || 1;
    this.size = { width, height };
    this.canvas.width = Math.round(width * scale);
    this.canvas.height = Math.round(height * scale);
    this.canvas.style.width = `${width}px`;
    this.canvas.style.height = `${height}px`;
    this.painted = undefined;
    this.draw();
  }

  show(shown: HeatShown): void {
    this.shown = shown;
    this.draw();
  }

  private draw(): void {
    if (!this.isAsked) {
      this.isAsked = true;
      requestAnimationFrame(() => {
        this.isAsked = false;
        this.paint();
      });
    }
  }

  private paint(): void {
    const context = this.canvas.getContext("2d");
    const shown = this.shown;
    if (context === null || shown === undefined) {
      return;
    }
    const { map } = shown;
    const { column, row, height } = frame(map, this.size);
    const last = this.painted;
    if (last === undefined || last.map !== map || last.values !== shown.values || last.isDark !== shown.isDark || last.ground !== shown.ground) {
      this.paintSquares(shown);
      this.painted = shown;
    }
    const scale = devicePixelRatio || 1;
    context.setTransform(1, 0, 0, 1, 0, 0);
    // A window without any room has no squares.
    if (this.squares.width > 0 && this.squares.height > 0) {
      context.drawImage(this.squares, 0, 0);
    }
    context.setTransform(scale, 0, 0, scale, 0, 0);
    const frameOf = (cells: number[], line: number, dashes: number[]) => {
      // The squares of each column are one frame.
      for (let first = 0; first < cells.length; ) {
        const at = Math.floor(cells[first] / map.rows);
        let last = first;
        while (last + 1 < cells.length && Math.floor(cells[last + 1] / map.rows) === at) {
          last += 1;
        }
        const y = height - ((cells[last] % map.rows) + 1) * row;
        this.outline(context, shown.ink, LEFT + at * column, y, column, (last - first + 1) * row, line, dashes);
        first = last + 1;
      }
    };
    shown.chosen.forEach((span, at) => frameOf(cellsOf(map, span), 2, at === 0 ? [] : [4, 2]));
    if (shown.cursor >= 0) {
      const [low, high] = shown.anchor < 0 ? [shown.cursor, shown.cursor] : [Math.min(shown.anchor, shown.cursor), Math.max(shown.anchor, shown.cursor)];
      frameOf(Array.from({ length: high - low + 1 }, (_, at) => low + at), shown.anchor < 0 ? 1 : 2, []);
    }
  }

  private paintSquares(shown: HeatShown): void {
    this.squares.width = this.canvas.width;
    this.squares.height = this.canvas.height;
    const context = this.squares.getContext("2d");
    if (context === null) {
      return;
    }
    const scale = devicePixelRatio || 1;
    context.setTransform(scale, 0, 0, scale, 0, 0);
    context.fillStyle = shown.ground;
    context.fillRect(0, 0, this.size.width, this.size.height);
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
      context.fillStyle = heat(values[cell] / (most || 1), isDark);
      context.fillRect(x, y, column - gapX + (gapX === 0 ? 0.5 : 0), row - gapY + (gapY === 0 ? 0.5 : 0));
    }
    this.axes(context, shown, column, row, height);
  }

  private outline(context: CanvasRenderingContext2D, ink: string, x: number, y: number, width: number, height: number, line: number, dashes: number[]): void {
    context.strokeStyle = ink;
    context.lineWidth = line;
    context.setLineDash(dashes);
    context.strokeRect(x - 1, y - 1, Math.max(3, width) + 1, Math.max(3, height) + 1);
    context.setLineDash([]);
  }

  private axes(context: CanvasRenderingContext2D, { map, ink }: HeatShown, column: number, row: number, height: number): void {
    context.fillStyle = ink;
    context.globalAlpha = 0.75;
    context.font = "11px system-ui, sans-serif";
    context.textBaseline = "middle";
    context.textAlign = "right";
    const least = map.rows / Math.max(1, height / 36);
    const every = [1, 2, 5, 10, 20, 50, 100, 200, 500].find((step) => step >= least) ?? map.rows;
    for (let at = 0; at < map.rows; at += every) {
      const y = height - (at + 0.5) * row;
      if (y > 7) {
        context.fillText(short(at * map.row), LEFT - 6, y);
      }
    }
    context.textAlign = "left";
    const widest = Math.ceil(64 / column);
    const apart = [1, 2, 5, 10, 15, 20, 30, 60, 100, 120, 300, 600].find((step) => step >= widest) ?? widest;
    for (let at = 0; at < map.columns; at += apart) {
      context.fillText(short(map.start + at * map.column), LEFT + at * column, height + BELOW / 2);
    }
    context.globalAlpha = 1;
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
