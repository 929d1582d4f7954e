// The colours of a difference: by what has become of a call, and stronger where more of it has
// changed. What may be chance is grey. `profundo diff -o` draws the same colours.

import type { Boxes, Flame, Picture } from "./picture";
import { NARROW, ROOT } from "./picture";
import type { Fills } from "./colours";

/** The columns of an answer to `diff_flame`. */
export interface DiffBoxes {
  function: number[];
  level: number[];
  weight: number[];
  before: number[];
  after: number[];
  own_before: number[];
  own_after: number[];
  change: number[];
  low: number[];
  high: number[];
  trend: string;
  strength: number[];
  line: number[];
  path: number[];
}

/** The answer to `diff_flame`. */
export interface DiffFlame {
  unit: string;
  per: string;
  total: number;
  callers: DiffBoxes;
  functions: { name: string[]; file: string[]; kind: string[]; package: string[] };
  boxes: DiffBoxes;
  least: number;
}

/** What has become of a call, by the letter of an answer. */
export const TRENDS: Record<string, string> = {
  ".": "may be chance",
  "+": "grew",
  "-": "shrank",
  n: "new",
  g: "gone",
};

type Tint = [light: string, dark: string];

const GREW: Tint[] = [["#fedbd6", "#4f2e29"], ["#ffb7ad", "#6d2f29"], ["#fc9285", "#8c2e26"], ["#f66a5c", "#ac2722"]];
const SHRANK: Tint[] = [["#d5e7f8", "#283a4c"], ["#afd4f5", "#254769"], ["#89c1f1", "#1f5587"], ["#60adec", "#1263a6"]];
const NEW: Tint = ["#fa8f19", "#934f00"];
const GONE: Tint = ["#3bcfcf", "#006666"];
const CHANCE: Tint = ["#d5d9de", "#3b424a"];
const WHOLE: Tint = ["#eef1f4", "#262c33"];

/** Every fill of a box with words on it. */
export const EVERY_CHANGE: Tint[] = [...GREW, ...SHRANK, NEW, GONE, CHANCE, WHOLE];

/** The same boxes as those of a flame graph, so that they are drawn alike. */
export function asFlame(flame: DiffFlame): Flame {
  const columns = (boxes: DiffBoxes): Boxes => ({
    function: boxes.function,
    level: boxes.level,
    weight: boxes.weight,
    own: boxes.own_after,
    count: boxes.level.map(() => 0),
    line: boxes.line,
    last_line: boxes.level.map(() => 0),
    path: boxes.path,
  });
  return {
    unit: flame.unit,
    total: flame.total,
    total_count: 0,
    callers: columns(flame.callers),
    functions: { ...flame.functions, key: [] },
    boxes: columns(flame.boxes),
    least: flame.least,
  };
}

/** The fill of each box, and what the fills mean. */
export function changeFills(flame: DiffFlame, picture: Picture, isDark: boolean): Fills {
  const tint = (pair: Tint) => pair[isDark ? 1 : 0];
  const { trend, strength } = flame.boxes;
  const of = picture.boxes.function.map((row, at) => {
    if (row === ROOT) {
      return tint(WHOLE);
    }
    if (row === NARROW) {
      return tint(CHANCE);
    }
    switch (trend[at]) {
      case "+":
        return tint(GREW[strength[at]]);
      case "-":
        return tint(SHRANK[strength[at]]);
      case "n":
        return tint(NEW);
      case "g":
        return tint(GONE);
      default:
        return tint(CHANCE);
    }
  });
  return {
    of,
    legend: [
      ["grew a little", tint(GREW[1])],
      ["grew much", tint(GREW[3])],
      ["new", tint(NEW)],
      ["shrank a little", tint(SHRANK[1])],
      ["shrank much", tint(SHRANK[3])],
      ["gone", tint(GONE)],
      ["may be chance", tint(CHANCE)],
    ],
  };
}
