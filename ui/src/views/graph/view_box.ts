// The part of the call graph that is in the window: how large it is drawn, and where it begins.

import { useEffect, useRef, useState } from "preact/hooks";

import type { Graph } from "./answer";

export interface ViewBox {
  x: number;
  y: number;
  width: number;
  height: number;
}

/** Half as large as the graph fits, and eight times as large as it is. */
const LARGEST = 8;

export interface Camera {
  view: ViewBox;
  /** Whether all of the graph is in the window. */
  isWhole: boolean;
  /** Moves by pixels of the page. */
  pan: (x: number, y: number) => void;
  /** Makes the graph larger or smaller around a point of the window, given as parts of its sides. */
  zoom: (factor: number, atX?: number, atY?: number) => void;
  fit: () => void;
  /** Moves as little as needed until an area is in the window. */
  reveal: (area: [number, number, number, number]) => void;
  /** Puts an area into the middle, in a size that can be read. */
  centre: (area: [number, number, number, number]) => void;
}

export function useCamera(graph: Graph, size: { width: number; height: number }, centred?: [number, number, number, number]): Camera {
  const fitting = (): ViewBox => {
    const margin = 12;
    const [width, height] = [graph.width + 2 * margin, graph.height + 2 * margin];
    // A small graph is not blown up.
    const perPixel = Math.max(width / (size.width || 1), height / (size.height || 1), 1 / 1.4);
    const [shownWidth, shownHeight] = [perPixel * size.width, perPixel * size.height];
    return { x: (graph.width - shownWidth) / 2, y: height < shownHeight ? -margin : (graph.height - shownHeight) / 2, width: shownWidth, height: shownHeight };
  };
  const [chosen, setChosen] = useState<ViewBox | undefined>(undefined);
  const last = useRef<ViewBox | undefined>(undefined);
  const around = (area: [number, number, number, number]): ViewBox => {
    const view = fitting();
    const scale = Math.min(1, view.width / size.width);
    const [width, height] = [size.width * scale, size.height * scale];
    return { x: area[0] + area[2] / 2 - width / 2, y: area[1] + area[3] / 2 - height / 2, width, height };
  };
  // Another graph begins as a whole, or around its centre if it is too large to be read.
  useEffect(() => {
    const tooLarge = size.width > 0 && fitting().width > 2.2 * size.width;
    setChosen(centred !== undefined && tooLarge ? around(centred) : undefined);
  }, [graph, size.width > 0]);
  // The window keeps its scale when its size changes.
  const view = chosen === undefined ? fitting() : { ...chosen, height: (chosen.width * size.height) / (size.width || 1) };
  last.current = view;
  const set = (next: ViewBox) => {
    // Some of the graph always stays in the window.
    const keep = (at: number, length: number, all: number) => Math.max(-0.7 * length, Math.min(all - 0.3 * length, at));
    setChosen({ ...next, x: keep(next.x, next.width, graph.width), y: keep(next.y, next.height, graph.height) });
  };
  return {
    view,
    isWhole: chosen === undefined,
    pan: (x, y) => {
      const now = last.current ?? view;
      const scale = now.width / (size.width || 1);
      set({ ...now, x: now.x - x * scale, y: now.y - y * scale });
    },
    zoom: (factor, atX = 0.5, atY = 0.5) => {
      const now = last.current ?? view;
      const width = Math.max(size.width / LARGEST, Math.min(now.width * factor, 2 * fitting().width));
      const ratio = width / now.width;
      set({ x: now.x + atX * (now.width - width), y: now.y + atY * now.height * (1 - ratio), width, height: now.height * ratio });
    },
    fit: () => setChosen(undefined),
    reveal: ([x, y, width, height]) => {
      const now = last.current ?? view;
      const into = (start: number, length: number, from: number, room: number) =>
        from < start ? from - 10 : from + room > start + length ? Math.min(from - 10, from + room + 10 - length) : start;
      const next = { ...now, x: into(now.x, now.width, x, width), y: into(now.y, now.height, y, height) };
      if (next.x !== now.x || next.y !== now.y) {
        set(next);
      }
    },
    centre: (area) => set(around(area)),
  };
}
