// A flame graph in the order of time as a picture: the lanes of threads one below the other, each with
// a row that names it.

import { NARROW, type Boxes, type Flame, type Picture } from "./picture";

/** A lane of the answer. The columns of its boxes are arrays of equal length. */
export interface Lane {
  number: number;
  name: string;
  pid: number | null;
  command: string;
  weight: number;
  count: number;
  rows: number;
  function: number[];
  level: number[];
  from: number[];
  to: number[];
  box_weight: number[];
  own: number[];
  box_count: number[];
  line: number[];
  last_line: number[];
}

/** The answer to `lanes`. */
export interface Lanes {
  from: number;
  to: number;
  span: [number, number];
  least: number;
  functions: Flame["functions"];
  lanes: Lane[];
  left_out: number;
}

/** A picture whose left edge is a moment. Its lanes begin at these boxes. */
export interface LanePicture extends Picture {
  heads: number[];
}

/** Places the boxes of all lanes. Level 0 of each lane is its name. */
export function placeLanes(answer: Lanes): LanePicture {
  const functions = { ...answer.functions, name: [...answer.functions.name], file: [...answer.functions.file], kind: [...answer.functions.kind], package: [...answer.functions.package] };
  const boxes: Boxes = { function: [], level: [], weight: [], own: [], count: [], line: [], last_line: [], path: [] };
  const start: number[] = [];
  const extent: number[] = [];
  const parent: number[] = [];
  const heads: number[] = [];
  const add = (row: number, level: number, from: number, to: number, caller: number) => {
    boxes.function.push(row);
    boxes.level.push(level);
    boxes.path.push(0);
    start.push(from - answer.from);
    extent.push(to - from);
    parent.push(caller);
  };
  let top = 0;
  for (const lane of answer.lanes) {
    const head = boxes.level.length;
    heads.push(head);
    functions.name.push(laneName(lane));
    functions.file.push("");
    functions.kind.push("root");
    functions.package.push("");
    add(functions.name.length - 1, top, answer.from, answer.to, -1);
    boxes.weight.push(lane.weight);
    boxes.own.push(0);
    boxes.count.push(lane.count);
    boxes.line.push(0);
    boxes.last_line.push(0);
    const first = boxes.level.length;
    // A caller holds what it calls: it is the last box of the level below that begins no later.
    const lastOf: number[] = [head];
    const order = lane.level.map((_, at) => at).sort((a, b) => lane.from[a] - lane.from[b] || lane.level[a] - lane.level[b]);
    for (const at of order) {
      const level = lane.level[at];
      const caller = lastOf[level] ?? head;
      lastOf[level + 1] = first + (boxes.level.length - first);
      add(lane.function[at], top + 1 + level, lane.from[at], lane.to[at], caller);
      boxes.weight.push(lane.box_weight[at]);
      boxes.own.push(lane.own[at]);
      boxes.count.push(lane.box_count[at]);
      boxes.line.push(lane.line[at]);
      boxes.last_line.push(lane.last_line[at]);
    }
    // An empty row stands between two lanes.
    top += lane.rows + 2;
  }
  const counts: number[] = [];
  boxes.level.forEach((level) => (counts[level] = (counts[level] ?? 0) + 1));
  const rows = Array.from({ length: counts.length }, (_, level) => new Int32Array(counts[level] ?? 0));
  const filled = rows.map(() => 0);
  boxes.level.forEach((level, at) => (rows[level][filled[level]++] = at));
  const places = Float64Array.from(start);
  rows.forEach((row) => row.sort((a, b) => places[a] - places[b]));
  const total = answer.lanes.reduce((sum, lane) => Math.max(sum, lane.weight), 0);
  const flame: Flame = { unit: "time", total, total_count: 0, callers: { ...boxes, level: [], function: [] }, functions, boxes, least: answer.least };
  return { flame, boxes, start: places, extent, parent: Int32Array.from(parent), rows, width: answer.to - answer.from, heads };
}

function laneName(lane: Lane): string {
  const name = lane.name || lane.command || "thread";
  return `${name} · thread ${lane.number}${lane.pid === null ? "" : ` of ${lane.pid}`}`;
}

/** The neighbour of a box in its row, or the first box on it; -1 for none. */
export function step(picture: Picture, at: number, key: string): number {
  const level = picture.boxes.level[at];
  const row = picture.rows[level];
  switch (key) {
    case "ArrowLeft":
      return row[row.indexOf(at) - 1] ?? -1;
    case "ArrowRight":
      return row[row.indexOf(at) + 1] ?? -1;
    case "ArrowUp":
      return picture.parent[at];
    default:
      return picture.boxes.function[at] === NARROW ? -1 : picture.parent.indexOf(at);
  }
}
