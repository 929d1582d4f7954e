// The rows of the tree: the boxes of a flame graph whose callers are open. Where libraries are folded,
// a chain of their functions is one row, and below it stand the functions that it calls back.

import { nameOf, NARROW, placeOf, type Picture } from "../../canvas/picture";

export interface TreeRow {
  box: number;
  level: number;
  /** What is opened and closed by it: the path of a call, or of a folded chain. */
  key: string;
  hasMore: boolean;
  isOpen: boolean;
  /** For a folded chain, the number of its functions. */
  folded?: number;
}

/** By box, its callees; the widest first. */
export function calleesOf(picture: Picture): number[][] {
  const callees: number[][] = picture.boxes.level.map(() => []);
  picture.parent.forEach((caller, at) => caller >= 0 && callees[caller].push(at));
  callees.forEach((list) => list.sort((a, b) => picture.boxes.weight[b] - picture.boxes.weight[a]));
  return callees;
}

/** The boxes from one on, each the widest callee, with at least half of its caller's time. The first
    step is taken in any case: of two threads with as much, one comes first. */
export function hottestPath(picture: Picture, callees: number[][], from: number): number[] {
  const path = [from];
  for (;;) {
    const next = callees[path[path.length - 1]]?.find((at) => picture.boxes.function[at] !== NARROW);
    const caller = path[path.length - 1];
    if (next === undefined || (path.length > 1 && picture.boxes.weight[next] * 2 < picture.boxes.weight[caller])) {
      return path;
    }
    path.push(next);
  }
}

/** The key of a call. */
export const keyOf = (picture: Picture, box: number) => String(picture.boxes.path[box]);
/** The key of the folded chain that begins at a call. */
export const chainKey = (picture: Picture, box: number) => `chain ${picture.boxes.path[box]}`;

export class TreeModel {
  readonly callees: number[][];
  private chains = new Map<number, { length: number; exits: number[] }>();

  constructor(readonly picture: Picture, readonly isFolded: boolean) {
    this.callees = calleesOf(picture);
  }

  isLibrary(box: number): boolean {
    const row = this.picture.boxes.function[box];
    return row >= 0 && this.picture.flame.functions.is_library?.[row] === true;
  }

  /** The functions of libraries that call one another from a box on, and those that they call back. */
  private chain(box: number): { length: number; exits: number[] } {
    const known = this.chains.get(box);
    if (known !== undefined) {
      return known;
    }
    const found = { length: 0, exits: [] as number[] };
    const waiting = [box];
    for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
      found.length += 1;
      for (const callee of this.callees[next]) {
        if (this.isLibrary(callee)) {
          waiting.push(callee);
        } else if (this.picture.boxes.function[callee] >= 0) {
          found.exits.push(callee);
        }
      }
    }
    const { weight } = this.picture.boxes;
    found.exits.sort((a, b) => weight[b] - weight[a]);
    this.chains.set(box, found);
    return found;
  }

  /** What is open in a chain that is opened: all of its functions. */
  keysOfChain(box: number): string[] {
    const inside = this.callees[box].filter((callee) => this.isLibrary(callee));
    return [keyOf(this.picture, box), ...inside.flatMap((callee) => this.keysOfChain(callee))];
  }

  /** The rows that are seen, with these open. */
  rows(open: Set<string>): TreeRow[] {
    const rows: TreeRow[] = [];
    if (this.picture.boxes.level.length > 0) {
      this.walk(0, 0, false, open, rows);
    }
    return rows;
  }

  private walk(box: number, level: number, isInChain: boolean, open: Set<string>, rows: TreeRow[]): void {
    const { picture } = this;
    const isLibrary = this.isLibrary(box);
    if (this.isFolded && isLibrary && !isInChain) {
      const { length, exits } = this.chain(box);
      if (length > 1) {
        const key = chainKey(picture, box);
        const isOpen = open.has(key);
        rows.push({ box, level, key, hasMore: true, isOpen, folded: length });
        if (isOpen) {
          this.walk(box, level + 1, true, open, rows);
        } else {
          exits.forEach((exit) => this.walk(exit, level + 1, false, open, rows));
        }
        return;
      }
    }
    const key = keyOf(picture, box);
    const hasMore = this.callees[box].length > 0;
    const isOpen = hasMore && open.has(key);
    rows.push({ box, level, key, hasMore, isOpen });
    if (isOpen) {
      for (const callee of this.callees[box]) {
        if (picture.boxes.function[callee] >= 0) {
          this.walk(callee, level + 1, isInChain && isLibrary, open, rows);
        } else {
          rows.push({ box: callee, level: level + 1, key: `${keyOf(picture, callee)} ${nameOf(picture, callee)}`, hasMore: false, isOpen: false });
        }
      }
    }
  }

  /** The name of a row. */
  name(row: TreeRow): string {
    return row.folded === undefined ? nameOf(this.picture, row.box) : `${row.folded} functions of ${this.libraries(row.box)}`;
  }

  /** Where the code of a row is. */
  place(row: TreeRow): string {
    return row.folded === undefined ? placeOf(this.picture, row.box) : "";
  }

  private libraries(box: number): string {
    const { boxes, flame } = this.picture;
    const name = flame.functions.package[boxes.function[box]] ?? "";
    return name === "" ? "libraries" : `libraries, from ${name}`;
  }
}
