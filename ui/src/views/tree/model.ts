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

/** A box whose row is still to be made. */
interface Waiting {
  box: number;
  level: number;
  /** Whether it is in a chain that is open. */
  isInChain: boolean;
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
    const keys: string[] = [];
    const waiting = [box];
    for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
      keys.push(keyOf(this.picture, next));
      for (const callee of this.callees[next]) {
        if (this.isLibrary(callee)) {
          waiting.push(callee);
        }
      }
    }
    return keys;
  }

  /** The rows that are seen, with these open. The boxes that are still to be looked at wait in a
      list: calls may be far deeper than the stack of the browser. */
  rows(open: Set<string>): TreeRow[] {
    const rows: TreeRow[] = [];
    const waiting: Waiting[] = this.picture.boxes.level.length > 0 ? [{ box: 0, level: 0, isInChain: false }] : [];
    for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
      const [row, inside] = this.step(next, open);
      rows.push(row);
      // The last to come in is the next to go out.
      for (let at = inside.length - 1; at >= 0; at--) {
        waiting.push(inside[at]);
      }
    }
    return rows;
  }

  /** The row of a box, and the boxes that stand below it. */
  private step({ box, level, isInChain }: Waiting, open: Set<string>): [TreeRow, Waiting[]] {
    const { picture } = this;
    const below = (box: number, isInChain: boolean): Waiting => ({ box, level: level + 1, isInChain });
    if (picture.boxes.function[box] < 0 && level > 0) {
      return [{ box, level, key: `${keyOf(picture, box)} ${nameOf(picture, box)}`, hasMore: false, isOpen: false }, []];
    }
    const isLibrary = this.isLibrary(box);
    if (this.isFolded && isLibrary && !isInChain) {
      const { length, exits } = this.chain(box);
      if (length > 1) {
        const key = chainKey(picture, box);
        const isOpen = open.has(key);
        const inside = isOpen ? [below(box, true)] : exits.map((exit) => below(exit, false));
        return [{ box, level, key, hasMore: true, isOpen, folded: length }, inside];
      }
    }
    const key = keyOf(picture, box);
    const hasMore = this.callees[box].length > 0;
    const isOpen = hasMore && open.has(key);
    const inside = isOpen ? this.callees[box].map((callee) => below(callee, isInChain && isLibrary)) : [];
    return [{ box, level, key, hasMore, isOpen }, inside];
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
