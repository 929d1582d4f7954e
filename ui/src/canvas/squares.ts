// The square map: a box holds the boxes of what it calls, each as large as its time, as near to
// squares as can be, after Bruls, Huizing and van Wijk (Squarified Treemaps, 2000). What stays free in
// a box is its own time.

import type { Pen } from "./pen";
import { nameOf, NARROW, type Picture } from "./picture";
import { Sheet } from "./sheet";
import { PALE, PALE_WORDS, type Theme } from "./theme";

/** The height of a box's title, and the frame around its callees. */
const TITLE = 17;
const FRAME = 2;
/** The least size in which callees are drawn, and in which a box has a title above them. */
const LEAST = 7;
const LEAST_TITLED = 34;

/** The shades by depth, and how much each is nearer to the ground. */
const DEPTHS = 4;
const SHADE = 0.15;

interface Area {
  x: number;
  y: number;
  width: number;
  height: number;
}

/** Divides an area in proportion to weights, which come with the largest first. */
export function squarified(area: Area, weights: number[]): Area[] {
  const sum = weights.reduce((sum, weight) => sum + weight, 0);
  const scale = (area.width * area.height) / (sum || 1);
  const sizes = weights.map((weight) => weight * scale);
  const areas: Area[] = [];
  const left = { ...area };
  // The worst ratio of sides in a row of boxes.
  const worst = (largest: number, smallest: number, sum: number, side: number) =>
    Math.max((side * side * largest) / (sum * sum), (sum * sum) / Math.max(1e-12, side * side * smallest));
  for (let start = 0; start < sizes.length; ) {
    const side = Math.max(1e-9, Math.min(left.width, left.height));
    let end = start + 1;
    let row = sizes[start];
    let ratio = worst(sizes[start], sizes[start], row, side);
    while (end < sizes.length) {
      const next = worst(sizes[start], sizes[end], row + sizes[end], side);
      if (next > ratio) {
        break;
      }
      ratio = next;
      row += sizes[end];
      end += 1;
    }
    // What is left over is filled without a gap.
    const depth = end === sizes.length ? Math.max(left.width, left.height) : row / side;
    const isColumn = left.width >= left.height;
    let offset = 0;
    for (const size of sizes.slice(start, end)) {
      const length = (side * size) / Math.max(1e-9, row);
      areas.push(
        isColumn
          ? { x: left.x, y: left.y + offset, width: depth, height: length }
          : { x: left.x + offset, y: left.y, width: length, height: depth },
      );
      offset += length;
    }
    if (isColumn) {
      left.x += depth;
      left.width = Math.max(0, left.width - depth);
    } else {
      left.y += depth;
      left.height = Math.max(0, left.height - depth);
    }
    start = end;
  }
  return areas;
}

export class SquareCanvas extends Sheet {
  picture: Picture | undefined;
  fills: string[] = [];
  found: Uint8Array = new Uint8Array(0);
  hovered = -1;
  selected = -1;
  theme: Theme = { ground: "#fff", ink: "#111", softInk: "#444", line: "#fff", mark: "#000" };
  /** By box, its area; those that are too small have none. A box stands before those within it. */
  private areas = new Map<number, Area>();
  private root = 0;

  /** Shows a picture from a box on. */
  show(picture: Picture, root: number): void {
    this.picture = picture;
    this.root = root;
    this.hovered = -1;
    this.place();
    this.draw();
  }

  override resize(width: number, height: number): void {
    super.resize(width, height);
    this.place();
  }

  /** The place of a box in the canvas, if it can be seen. */
  areaOf(box: number): Area | undefined {
    return this.areas.get(box);
  }

  /** The innermost box at a point; -1 for none. */
  at(x: number, y: number): number {
    let found = -1;
    for (const [box, area] of this.areas) {
      if (x >= area.x && x < area.x + area.width && y >= area.y && y < area.y + area.height) {
        found = box;
      }
    }
    return found;
  }

  private place(): void {
    this.areas.clear();
    const { picture, width, height } = this;
    if (picture === undefined || width <= 0 || height <= 0) {
      return;
    }
    const inner = new Map<number, number[]>();
    picture.parent.forEach((parent, at) => {
      const list = inner.get(parent);
      if (list === undefined) {
        inner.set(parent, [at]);
      } else {
        list.push(at);
      }
    });
    this.fill(picture, inner, this.root, { x: 0, y: 0, width, height });
  }

  /** Gives areas to a box and to what is in it. */
  private fill(picture: Picture, inner: Map<number, number[]>, box: number, area: Area): void {
    const waiting: [number, Area][] = [[box, area]];
    for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
      const [at, area] = next;
      this.areas.set(at, area);
      this.inside(picture, inner.get(at), at, area).reverse().forEach((box) => waiting.push(box));
    }
  }

  /** The boxes in a box, as far as they can be seen. */
  private inside(picture: Picture, callees: number[] | undefined, box: number, area: Area): [number, Area][] {
    const hasTitle = area.width >= LEAST_TITLED && area.height >= TITLE + 2 * LEAST;
    const top = hasTitle ? TITLE : FRAME;
    const inside = { x: area.x + FRAME, y: area.y + top, width: area.width - 2 * FRAME, height: area.height - top - FRAME };
    if (callees === undefined || inside.width < LEAST || inside.height < LEAST) {
      return [];
    }
    const { weight } = picture.boxes;
    const own = weight[box] - callees.reduce((sum, at) => sum + weight[at], 0);
    // What is free has a place too: -1 stands for it.
    const items = [...callees.map((at): [number, number] => [weight[at], at]), [Math.max(0, own), -1] as [number, number]];
    items.sort((a, b) => b[0] - a[0]);
    const areas = squarified(inside, items.map(([weight]) => weight));
    const found = items.map(([, at], place): [number, Area] => [at, areas[place]]);
    return found.filter(([at, { width, height }]) => at >= 0 && width > 0.7 && height > 0.7);
  }

  protected paint(pen: Pen): void {
    const { picture, theme } = this;
    pen.globalAlpha = 1;
    pen.fillStyle = theme.ground;
    pen.fillRect(0, 0, this.width, this.height);
    if (picture === undefined) {
      return;
    }
    pen.font = "12px ui-monospace, SFMono-Regular, Menlo, Consolas, monospace";
    pen.textBaseline = "middle";
    pen.textAlign = "left";
    const letter = pen.measureText("0").width;
    const isSearch = this.found.length > 0;
    for (const [box, area] of this.areas) {
      const isFound = !isSearch || this.found[box] !== 0;
      if (!isFound) {
        // The box around it may be one that is found.
        pen.fillStyle = theme.ground;
        pen.fillRect(area.x, area.y, area.width, area.height);
        pen.globalAlpha = PALE;
      }
      pen.fillStyle = this.fills[box] ?? "#ccc";
      pen.fillRect(area.x, area.y, area.width, area.height);
      // A box differs from the one around it.
      const shade = SHADE * (picture.boxes.level[box] % DEPTHS) * pen.globalAlpha;
      if (shade > 0) {
        pen.globalAlpha = shade;
        pen.fillStyle = theme.ground;
        pen.fillRect(area.x, area.y, area.width, area.height);
      }
      pen.globalAlpha = isFound ? 1 : PALE;
      if (area.width > 3 && area.height > 3) {
        pen.strokeStyle = theme.ground;
        pen.lineWidth = 1;
        pen.strokeRect(area.x + 0.5, area.y + 0.5, area.width - 1, area.height - 1);
      }
      pen.globalAlpha = isFound ? 1 : PALE_WORDS;
      this.name(pen, picture, box, area, letter);
    }
    pen.globalAlpha = 1;
    for (const [box, width] of [[this.hovered, 1.5], [this.selected, 3]]) {
      const area = this.areas.get(box);
      if (area !== undefined && box !== this.root) {
        pen.strokeStyle = theme.mark;
        pen.lineWidth = width;
        pen.strokeRect(area.x + width / 2, area.y + width / 2, Math.max(1, area.width - width), Math.max(1, area.height - width));
      }
    }
  }

  private name(pen: Pen, picture: Picture, box: number, area: Area, letter: number): void {
    const room = Math.floor((area.width - 7) / letter);
    if (room < 3 || area.height < TITLE - 2) {
      return;
    }
    const name = nameOf(picture, box);
    const shown = name.length <= room ? name : `${name.slice(0, room - 1)}…`;
    pen.fillStyle = picture.boxes.function[box] === NARROW ? this.theme.softInk : this.theme.ink;
    pen.fillText(shown, area.x + 4, area.y + TITLE / 2 + 0.5);
  }
}
