// The part of the call graph that is in the window: how large it is drawn, and what is in its middle.
// It stands in the address of the page, as parts of the graph's sides, so that it can be shared and
// taken back. Moves that follow each other are one step back.

import { useEffect, useRef, useState } from "preact/hooks";

import { change, hashOf, usePlace } from "../../place";
import type { Graph } from "./answer";

export interface ViewBox {
  x: number;
  y: number;
  width: number;
  height: number;
}

interface Size {
  width: number;
  height: number;
}

type Area = [left: number, top: number, width: number, height: number];

/** A graph that is drawn smaller than by this factor cannot be read, and the factor that it begins with. */
const TOO_LARGE = 1.7;
const BEGIN = 1.15;
/** Half as large as the graph fits, and eight times as large as it is. */
const LARGEST = 8;
/** The room around a graph. */
const MARGIN = 12;
/** Moves that follow each other within this time are one step back, in milliseconds. */
const REST = 350;
/** The value of the place for all of a graph that begins with a part. */
const ALL = "all";

export interface Camera {
  view: ViewBox;
  /** Whether all of the graph is in the window. */
  isWhole: boolean;
  /** Moves by pixels of the page. */
  pan: (x: number, y: number) => void;
  /** Makes the graph larger or smaller around a point of the window, given as parts of its sides. */
  zoom: (factor: number, atX?: number, atY?: number) => void;
  fit: () => void;
  /** Moves as little as needed until an area is in the window. This is no step of the reader's. */
  reveal: (area: Area) => void;
}

/** The view of all of a graph. A small one is not blown up. */
function fitting(graph: Size, size: Size): ViewBox {
  const [width, height] = [graph.width + 2 * MARGIN, graph.height + 2 * MARGIN];
  const perPixel = Math.max(width / (size.width || 1), height / (size.height || 1), 1 / 1.4);
  const [shownWidth, shownHeight] = [perPixel * size.width, perPixel * size.height];
  return { x: (graph.width - shownWidth) / 2, y: height < shownHeight ? -MARGIN : (graph.height - shownHeight) / 2, width: shownWidth, height: shownHeight };
}

/** The view that a graph begins with: the whole or, if that is too large to be read, around its
    centre, else with the top of its heaviest box. */
function first(graph: Graph, size: Size, centred: Area | undefined): ViewBox {
  const whole = fitting(graph, size);
  if (size.width === 0 || whole.width < TOO_LARGE * size.width) {
    return whole;
  }
  if (centred !== undefined) {
    const [left, top, width, height] = centred;
    return { x: left + width / 2 - size.width / 2, y: top + height / 2 - size.height / 2, ...size };
  }
  const [left, top, boxWidth] = graph.nodes[0].area;
  const [width, height] = [size.width * BEGIN, size.height * BEGIN];
  return { x: Math.max(-MARGIN, left + boxWidth / 2 - width / 2), y: Math.max(-MARGIN, top - height / 3), width, height };
}

/** A view as text: its middle and its width, as parts of the graph's sides. */
function textOf(view: ViewBox, graph: Size): string {
  const parts = [(view.x + view.width / 2) / graph.width, (view.y + view.height / 2) / graph.height, view.width / graph.width];
  return parts.map((part) => Number(part.toFixed(5))).join("_");
}

/** The view that a text stands for, in a window of this size. */
function viewOf(text: string, graph: Size, size: Size): ViewBox | undefined {
  if (text === ALL) {
    return fitting(graph, size);
  }
  const parts = text.split("_").map(Number);
  if (parts.length !== 3 || !parts.every(Number.isFinite) || parts[2] <= 0) {
    return undefined;
  }
  const width = within(parts[2] * graph.width, graph, size);
  const height = (width * size.height) / (size.width || 1);
  return kept({ x: parts[0] * graph.width - width / 2, y: parts[1] * graph.height - height / 2, width, height }, graph);
}

/** The width of a view that is neither too near nor too far. */
function within(width: number, graph: Size, size: Size): number {
  return Math.max(size.width / LARGEST, Math.min(width, 2 * fitting(graph, size).width));
}

/** Some of the graph always stays in the window. */
function kept(view: ViewBox, graph: Size): ViewBox {
  const keep = (at: number, length: number, all: number) => Math.max(-0.7 * length, Math.min(all - 0.3 * length, at));
  return { ...view, x: keep(view.x, view.width, graph.width), y: keep(view.y, view.height, graph.height) };
}

export function useCamera(graph: Graph, size: Size, centred?: Area): Camera {
  const place = usePlace();
  const text = place.values.zoom ?? "";
  /** Another one is another graph; of the same, there may be a newer answer. */
  const asked = hashOf({ ...place, values: { ...place.values, zoom: "" } });
  const [moved, setMoved] = useState<ViewBox | undefined>(undefined);
  const waiting = useRef<{ timer: number; text: string } | undefined>(undefined);
  const last = useRef({ view: fitting(graph, size), asked });
  const settle = (isKept: boolean) => {
    const left = waiting.current;
    waiting.current = undefined;
    if (left !== undefined) {
      clearTimeout(left.timer);
      if (isKept) {
        change({ zoom: left.text });
      }
    }
  };
  useEffect(() => {
    settle(last.current.asked === asked);
    last.current.asked = asked;
    setMoved(undefined);
  }, [graph]);
  // The reader has gone elsewhere, as by the browser's back.
  useEffect(() => {
    settle(false);
    setMoved(undefined);
  }, [text]);
  useEffect(() => () => settle(false), []);
  const begin = first(graph, size, centred);
  const whole = fitting(graph, size);
  // The window keeps what is in it when its size changes.
  const view = moved === undefined ? (viewOf(text, graph, size) ?? begin) : { ...moved, height: (moved.width * size.height) / (size.width || 1) };
  last.current.view = view;
  const move = (next: ViewBox) => {
    const view = kept(next, graph);
    last.current.view = view;
    setMoved(view);
    clearTimeout(waiting.current?.timer);
    waiting.current = { timer: window.setTimeout(() => settle(true), REST), text: textOf(view, graph) };
  };
  return {
    view,
    isWhole: view.width === whole.width && view.x === whole.x && view.y === whole.y,
    pan: (x, y) => {
      const now = last.current.view;
      const scale = now.width / (size.width || 1);
      move({ ...now, x: now.x - x * scale, y: now.y - y * scale });
    },
    zoom: (factor, atX = 0.5, atY = 0.5) => {
      const now = last.current.view;
      const width = within(now.width * factor, graph, size);
      const ratio = width / now.width;
      move({ x: now.x + atX * (now.width - width), y: now.y + atY * now.height * (1 - ratio), width, height: now.height * ratio });
    },
    fit: () => {
      settle(false);
      setMoved(undefined);
      change({ zoom: begin.width === whole.width ? "" : ALL });
    },
    reveal: ([x, y, width, height]) => {
      const now = last.current.view;
      const into = (start: number, length: number, from: number, room: number) =>
        from < start ? from - 10 : from + room > start + length ? Math.min(from - 10, from + room + 10 - length) : start;
      const next = { ...now, x: into(now.x, now.width, x, width), y: into(now.y, now.height, y, height) };
      if (next.x !== now.x || next.y !== now.y) {
        last.current.view = next;
        setMoved(kept(next, graph));
      }
    },
  };
}
