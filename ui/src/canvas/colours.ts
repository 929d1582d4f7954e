// The colours of boxes: by kind of code, package, file, or heat. They can be told apart with each of
// the three colour blindnesses; the command's pictures have the same.

import { NARROW, ROOT, SYSTEM, type Picture } from "./picture";

/** A colour on a light ground and on a dark one. */
type Tint = [light: string, dark: string];

export const KINDS: Record<string, Tint> = {
  python: ["#7ea9f4", "#2a5bc0"],
  native: ["#ffbe55", "#8e6f00"],
  system: ["#b6a4bd", "#a04686"],
  waiting: ["#dfecf8", "#3a3540"],
  garbage: ["#66e4a2", "#008655"],
  missing: ["#e88a74", "#6c2500"],
  runtime: ["#c2c8cf", "#4a525b"],
  root: ["#eef1f4", "#262c33"],
};

/** The kinds in words, in the order of legends. */
export const KIND_WORDS: [kind: string, words: string][] = [
  ["python", "Python"], ["native", "native"], ["system", "system"], ["garbage", "garbage collection"],
  ["runtime", "the interpreter's own"], ["waiting", "waiting"], ["missing", "not readable"],
];

/** Of packages and files, the largest first. The first of them differ most, in lightness too. */
const GROUPS: Tint[] = [
  ["#95b7fb", "#5f5cc3"],
  ["#dd7002", "#bc401b"],
  ["#ffdd44", "#6a4407"],
  ["#a98794", "#825084"],
  ["#8f7ef0", "#482971"],
  ["#fab117", "#602903"],
  ["#9fab80", "#626455"],
  ["#50e093", "#21453b"],
  ["#5fa5cb", "#0d4ba4"],
  ["#96fa95", "#0c7615"],
];
const OTHERS: Tint = ["#c2c8cf", "#4a525b"];

const HEAT: Tint[] = [
  ["#f6f3dc", "#332d23"],
  ["#f2e8c7", "#3f311e"],
  ["#f1dbb2", "#4b3318"],
  ["#f1ce9e", "#593511"],
  ["#f1c08c", "#67360a"],
  ["#f2b17c", "#763505"],
  ["#f3a16f", "#843405"],
  ["#f29166", "#93310d"],
  ["#f18062", "#a22d1a"],
  ["#ee6e61", "#b02728"],
];

/** Every fill of a box with words on it. */
export const EVERY_FILL: Tint[] = [...Object.values(KINDS), ...GROUPS, OTHERS, ...HEAT];

export type Look = "kind" | "package" | "file" | "heat";
export const LOOKS: Look[] = ["kind", "package", "file", "heat"];

/** The fill of each box, and what the fills mean. */
export interface Fills {
  of: string[];
  legend: [name: string, colour: string][];
}

/** The fills. Packages and files have the colours that they have in the whole, of which this is a part. */
export function fills(picture: Picture, look: Look, isDark: boolean, whole = picture): Fills {
  const { boxes, flame } = picture;
  const tint = (pair: Tint) => pair[isDark ? 1 : 0];
  const length = boxes.level.length;
  const of = new Array<string>(length);
  const special = (at: number): string | undefined => {
    switch (boxes.function[at]) {
      case ROOT:
        return tint(KINDS.root);
      case SYSTEM:
        return tint(KINDS.system);
      case NARROW:
        return tint(OTHERS);
      default:
        return undefined;
    }
  };
  if (look === "heat") {
    let most = 1;
    for (let at = 1; at < length; at++) {
      most = Math.max(most, boxes.own[at]);
    }
    for (let at = 0; at < length; at++) {
      const step = Math.min(HEAT.length - 1, Math.floor((HEAT.length * boxes.own[at]) / most));
      of[at] = special(at) ?? tint(HEAT[step]);
    }
    return { of, legend: [["little time of its own", tint(HEAT[0])], ["much", tint(HEAT[HEAT.length - 1])]] };
  }
  if (look === "kind") {
    const used = new Set<string>();
    for (let at = 0; at < length; at++) {
      const row = boxes.function[at];
      const kind = row >= 0 ? flame.functions.kind[row] : "root";
      used.add(row === SYSTEM ? "system" : kind);
      of[at] = special(at) ?? tint(KINDS[kind] ?? OTHERS);
    }
    return { of, legend: KIND_WORDS.filter(([kind]) => used.has(kind)).map(([kind, name]) => [name, tint(KINDS[kind])]) };
  }
  const groupOf = flame.functions[look];
  const largest = largestOf(whole, look);
  for (let at = 0; at < length; at++) {
    const row = boxes.function[at];
    const group = row >= 0 ? largest.indexOf(groupOf[row]) : -1;
    of[at] = special(at) ?? tint(group < 0 ? OTHERS : GROUPS[group]);
  }
  const legend = largest.map((name, at): [string, string] => [name, tint(GROUPS[at])]);
  return { of, legend: [...legend, ["others", tint(OTHERS)]] };
}

/** The packages or files with most time of their own: as many as there are colours. */
function largestOf({ boxes, flame }: Picture, look: "package" | "file"): string[] {
  const groupOf = flame.functions[look];
  const sums = new Map<string, number>();
  boxes.function.forEach((row, at) => {
    if (row >= 0) {
      sums.set(groupOf[row], (sums.get(groupOf[row]) ?? 0) + boxes.own[at]);
    }
  });
  sums.delete("");
  return [...sums.entries()].sort((a, b) => b[1] - a[1]).slice(0, GROUPS.length).map(([name]) => name);
}
