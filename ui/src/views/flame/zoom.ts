// What a flame graph is zoomed to, which stands in the address of the page: the path of a box, and
// the window that was chosen by wheel, keys or the overview, as two parts of the picture's width.

import { useEffect, useLayoutEffect, useRef } from "preact/hooks";

import type { FlameCanvas } from "../../canvas/flame";
import { find, type Picture } from "../../canvas/picture";
import type { Held } from "../../canvas/use_canvas";
import { change, usePlace } from "../../place";

/** Moves that follow each other within this time are one step back, in milliseconds. */
const REST = 350;

export interface Zoom {
  /** The value of the place that has the window. */
  name: string;
  /** Shows what the address says. */
  apply: () => void;
  /** The window was moved by the reader. */
  moved: () => void;
  /** Shows a window of the whole picture, without a path. */
  wholly: (from: number, to: number) => void;
}

/** Two parts of a width, as text and back. */
const textOf = (from: number, to: number) => `${Number(from.toFixed(5))}-${Number(to.toFixed(5))}`;
function partsOf(text: string | undefined): [number, number] | undefined {
  const [from, to] = (text ?? "").split("-").map(Number);
  return to > from && from >= 0 && to <= 1.0001 ? [from, to] : undefined;
}

export function useZoom(sheet: Held<FlameCanvas | undefined>, picture: Picture, path: string | undefined, name: string): Zoom {
  const place = usePlace();
  const timer = useRef(0);
  const text = place.values[name];
  const apply = () => {
    const made = sheet.current;
    if (made === undefined) {
      return;
    }
    const parts = partsOf(text);
    if (parts === undefined) {
      const at = path === undefined ? 0 : find(picture, Number(path));
      made.zoomTo(Math.max(0, at));
    } else {
      [made.from, made.to] = parts.map((part) => part * picture.width);
      made.draw();
    }
  };
  useLayoutEffect(apply, [path, text]);
  useEffect(() => () => clearTimeout(timer.current), []);
  return {
    name,
    apply,
    moved: () => {
      clearTimeout(timer.current);
      timer.current = window.setTimeout(() => {
        const made = sheet.current;
        if (made?.picture !== undefined && made.picture.width > 0) {
          const { from, to, picture } = made;
          const isAll = to - from >= picture.width * 0.9999;
          change({ [name]: isAll ? "" : textOf(from / picture.width, to / picture.width) });
        }
      }, REST);
    },
    wholly: (from, to) => change({ path: "", [name]: textOf(from, to) }),
  };
}
