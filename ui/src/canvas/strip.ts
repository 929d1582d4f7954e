// Draws a strip of time: what was done by column, a curve, or boxes and ticks.
//
// An answer has columns of its own window. They are drawn at their times, so that the picture moves
// at once when the reader moves, and becomes sharp with the next answer.

import { fillOf } from "./activities";

/** A window of time, in nanoseconds. */
export interface Span {
  from: number;
  to: number;
}

/** The columns of an answer. */
export interface Columns {
  from: number;
  step: number;
}

export interface Brush {
  context: CanvasRenderingContext2D;
  width: number;
  height: number;
  window: Span;
  isDark: boolean;
  ink: string;
}

/** The place of a moment. */
export function xOf(time: number, window: Span, width: number): number {
  return ((time - window.from) / (window.to - window.from || 1)) * width;
}

/** Columns as a stack of activities. `most` is the value that reaches the top. */
export function drawActivities(brush: Brush, at: Columns, columns: Record<string, number[]>, order: string[], most: number): void {
  const { context, width, height, window } = brush;
  const length = Math.max(0, ...order.map((name) => columns[name]?.length ?? 0));
  const base = new Float64Array(length);
  const x = (column: number) => Math.round(xOf(at.from + column * at.step, window, width));
  const perColumn = (at.step / (window.to - window.from)) * width;
  const first = Math.max(0, Math.floor((window.from - at.from) / at.step));
  const last = Math.min(length, Math.ceil((window.to - at.from) / at.step));
  for (const name of order) {
    const values = columns[name];
    if (values === undefined) {
      continue;
    }
    context.fillStyle = fillOf(context, name, brush.isDark);
    let column = first;
    while (column < last) {
      const value = values[column];
      const below = base[column];
      let next = column + 1;
      // Columns that look the same are one box.
      while (next < last && values[next] === value && base[next] === below) {
        base[next] += value;
        next += 1;
      }
      base[column] += value;
      if (value > 0) {
        const top = height * (1 - Math.min(1, (below + value) / most));
        const bottom = height * (1 - Math.min(1, below / most));
        const left = x(column);
        const right = perColumn < 1 ? Math.max(left + 1, x(next)) : x(next);
        context.fillRect(left, top, right - left, bottom - top);
      }
      column = next;
    }
  }
}

/** A part of each column, as a line at the top. */
export function drawEdge(brush: Brush, at: Columns, values: number[], colour: string): void {
  const { context, width, window } = brush;
  context.fillStyle = colour;
  values.forEach((value, column) => {
    if (value > 0) {
      const left = Math.round(xOf(at.from + column * at.step, window, width));
      const right = Math.max(left + 1, Math.round(xOf(at.from + (column + 1) * at.step, window, width)));
      context.fillRect(left, 0, right - left, 3);
    }
  });
}

/** A bar for each column. `most` is the value that reaches the top. */
export function drawBars(brush: Brush, at: Columns, values: number[], most: number, colour: string): void {
  const { context, width, height, window } = brush;
  context.fillStyle = colour;
  values.forEach((value, column) => {
    if (value > 0) {
      const left = Math.round(xOf(at.from + column * at.step, window, width));
      const right = Math.max(left + 1, Math.round(xOf(at.from + (column + 1) * at.step, window, width)));
      const tall = Math.max(1, (height - 2) * Math.min(1, value / most));
      context.fillRect(left, height - tall, right - left, tall);
    }
  });
}

/** A curve: a filled one, or a line on it. */
export function drawCurve(brush: Brush, at: Columns, values: (number | null)[], most: number, colour: string, isFilled: boolean): void {
  const { context, width, height, window } = brush;
  const x = (column: number) => xOf(at.from + column * at.step, window, width);
  const y = (value: number) => height - 1 - (height - 4) * Math.min(1, value / (most || 1));
  let column = 0;
  while (column < values.length) {
    if (values[column] === null) {
      column += 1;
      continue;
    }
    const start = column;
    context.beginPath();
    while (column < values.length && values[column] !== null) {
      const at = y(values[column] ?? 0);
      if (column === start) {
        context.moveTo(x(column), at);
      } else {
        context.lineTo(x(column), at);
      }
      context.lineTo(x(column + 1), at);
      column += 1;
    }
    context.strokeStyle = colour;
    context.lineWidth = 1.5;
    context.stroke();
    if (isFilled) {
      context.lineTo(x(column), height);
      context.lineTo(x(start), height);
      context.closePath();
      context.globalAlpha = 0.3;
      context.fillStyle = colour;
      context.fill();
      context.globalAlpha = 1;
    }
  }
}

/** Steps of an axis that are easy to read: 1, 2 or 5 times a power of ten. */
export function ticks(window: Span, most: number): number[] {
  const span = window.to - window.from;
  const rough = span / Math.max(1, most);
  const power = 10 ** Math.floor(Math.log10(rough || 1));
  const step = [1, 2, 5, 10].map((n) => n * power).find((step) => step >= rough) ?? rough;
  const found: number[] = [];
  for (let tick = Math.ceil(window.from / step) * step; tick <= window.to; tick += step) {
    found.push(tick);
  }
  return found;
}

/** A moment in words, exact to the step between ticks. */
export function moment(time: number, step: number): string {
  const seconds = time / 1e9;
  const digits = Math.max(0, Math.min(9, Math.ceil(-Math.log10(step / 1e9 || 1) - 1e-9)));
  return `${seconds.toFixed(digits)} s`;
}

/** An axis of seconds. */
export function drawAxis({ context, window, width, height, ink }: Brush): void {
  const found = ticks(window, Math.max(3, width / 100));
  const step = found.length > 1 ? found[1] - found[0] : window.to - window.from;
  context.fillStyle = ink;
  context.font = "11px system-ui, sans-serif";
  context.textBaseline = "middle";
  for (const tick of found) {
    const x = Math.round(xOf(tick, window, width));
    const words = moment(tick, step);
    context.globalAlpha = 0.5;
    context.fillRect(x, height - 5, 1, 5);
    context.globalAlpha = 0.8;
    if (x + context.measureText(words).width + 4 < width) {
      context.fillText(words, x + 3, height / 2 - 1);
    }
  }
  context.globalAlpha = 1;
}
