// A flame graph with places: the boxes of an answer, each with its left edge.
//
// An answer has the boxes in the order of a walk, and their weights. Callees stand side by side from
// the left edge of their caller; behind them the box of those that are too narrow to be seen, and
// the system calls. What is left is the caller's own.

/** The columns of an answer to `flame`. */
export interface Boxes {
  function: number[];
  level: number[];
  weight: number[];
  own: number[];
  count: number[];
  line: number[];
  last_line: number[];
  path: number[];
}

/** The answer to `flame`. */
export interface Flame {
  unit: string;
  total: number;
  total_count: number;
  callers: Boxes;
  functions: { name: string[]; file: string[]; kind: string[]; package: string[]; library?: string[]; key?: number[] };
  boxes: Boxes;
  least: number;
}

export const ROOT = -1;
export const SYSTEM = -2;
export const NARROW = -3;

/** An answer with places. */
export interface Picture {
  flame: Flame;
  boxes: Boxes;
  /** By box, its left edge, its width and its caller; -1 for the root. */
  start: Float64Array;
  extent: ArrayLike<number>;
  parent: Int32Array;
  /** By level, its boxes from the left. */
  rows: Int32Array[];
  /** The weight of the root. */
  width: number;
}

/** Places the boxes of an answer. */
export function place(flame: Flame): Picture {
  const boxes = flame.boxes;
  const length = boxes.level.length;
  const start = new Float64Array(length);
  const parent = new Int32Array(length);
  // By box, the widths of its callees, and of its narrow ones.
  const callees = new Float64Array(length);
  const narrow = new Float64Array(length);
  const path: number[] = [];
  for (let at = 0; at < length; at++) {
    const level = boxes.level[at];
    path.length = level;
    const caller = level === 0 ? -1 : path[level - 1];
    parent[at] = caller;
    path.push(at);
    if (caller >= 0) {
      if (boxes.function[at] >= 0) {
        callees[caller] += boxes.weight[at];
      } else if (boxes.function[at] === NARROW) {
        narrow[caller] += boxes.weight[at];
      }
    }
  }
  const next = new Float64Array(length);
  const counts: number[] = [];
  for (let at = 0; at < length; at++) {
    const caller = parent[at];
    if (caller >= 0) {
      const left = start[caller];
      if (boxes.function[at] === NARROW) {
        start[at] = left + callees[caller];
      } else if (boxes.function[at] === SYSTEM) {
        start[at] = left + callees[caller] + narrow[caller];
      } else {
        start[at] = left + next[caller];
        next[caller] += boxes.weight[at];
      }
    }
    counts[boxes.level[at]] = (counts[boxes.level[at]] ?? 0) + 1;
  }
  const rows = counts.map((count) => new Int32Array(count));
  const filled = counts.map(() => 0);
  for (let at = 0; at < length; at++) {
    const level = boxes.level[at];
    rows[level][filled[level]++] = at;
  }
  rows.forEach((row) => row.sort((a, b) => start[a] - start[b]));
  return { flame, boxes, start, extent: boxes.weight, parent, rows, width: boxes.weight[0] ?? 0 };
}

/** The name of a box. */
export function nameOf(picture: Picture, at: number): string {
  const { boxes, flame } = picture;
  const row = boxes.function[at];
  switch (row) {
    case ROOT:
      return "all";
    case SYSTEM:
      return "[system call]";
    case NARROW:
      return boxes.line[at] === 1 ? "… 1 more" : `… ${boxes.line[at]} more`;
    default:
      return flame.functions.name[row];
  }
}

/** Where a box's code is: `path:line`, as far as known. */
export function placeOf(picture: Picture, at: number): string {
  const { boxes, flame } = picture;
  const row = boxes.function[at];
  const file = row < 0 ? "" : flame.functions.file[row];
  const [first, last] = [boxes.line[at], boxes.last_line[at]];
  if (file === "" || first === 0) {
    return file;
  }
  return last > first ? `${file}:${first}–${last}` : `${file}:${first}`;
}

/** The box with this path. */
export function find(picture: Picture, path: number): number {
  return picture.boxes.path.findIndex((known, at) => known === path && picture.boxes.function[at] >= ROOT);
}

/** By box, whether its function or its file has a text; empty for no text. */
export function findAll(picture: Picture, text: string): Uint8Array {
  if (text === "") {
    return new Uint8Array(0);
  }
  const wanted = text.toLowerCase();
  const { name, file } = picture.flame.functions;
  const isFound = name.map((name, row) => name.toLowerCase().includes(wanted) || file[row].toLowerCase().includes(wanted));
  return Uint8Array.from(picture.boxes.function, (row) => (row >= 0 && isFound[row] ? 1 : 0));
}

/** The widest callee of a box; -1 for none. */
export function widestCallee(picture: Picture, at: number): number {
  let [best, most] = [-1, -1];
  for (let next = at + 1; next < picture.parent.length && picture.boxes.level[next] > picture.boxes.level[at]; next++) {
    if (picture.parent[next] === at && picture.boxes.weight[next] > most) {
      [best, most] = [next, picture.boxes.weight[next]];
    }
  }
  return best;
}

/** The neighbour of a box in its row; -1 for none. */
export function sibling(picture: Picture, at: number, step: number): number {
  const row = picture.rows[picture.boxes.level[at]];
  return row[row.indexOf(at) + step] ?? -1;
}

/** The functions from the root to a box, one a line. */
export function stackText(picture: Picture, at: number): string {
  const lines: string[] = [];
  for (let next = at; next >= 0; next = picture.parent[next]) {
    lines.push(`${nameOf(picture, next)}  ${placeOf(picture, next)}`.trim());
  }
  return lines.join("\n");
}
