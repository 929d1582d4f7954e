// What is chosen in a heatmap: one span of time, or two that are compared. It stands in the address of
// the page as `squares`, in nanoseconds.

import { timesOf, type Heatmap } from "../../canvas/heat";
import type { Span } from "../../canvas/strip";
import { change } from "../../place";
import { secondsOf } from "../../terms";

export function spansOf(text: string | undefined): Span[] {
  const pairs = (text ?? "").split(",").map((pair) => pair.split("-").map(Number));
  return pairs.filter(([from, to]) => to > from).map(([from, to]) => ({ from, to })).slice(0, 2);
}

/** Chooses spans as a step of the reader's. What was zoomed into belongs to the old ones. */
export function chooseSpans(spans: Span[]): void {
  change({ squares: spans.map(({ from, to }) => `${from}-${to}`).join(","), path: "", path_a: "", path_b: "", zoom: "", zoom_path_a: "", zoom_path_b: "" });
}

/** The time of a column. */
export function columnOf(map: Heatmap, column: number): Span {
  const from = map.start + column * map.column;
  return { from, to: from + map.column };
}

/** The time from one square to another. */
export function between(map: Heatmap, first: number, last: number): Span {
  return { from: timesOf(map, Math.min(first, last)).from, to: timesOf(map, Math.max(first, last)).to };
}

const UNITS: [length: number, name: string][] = [
  [1e9, "second"],
  [60e9, "minute"],
  [3600e9, "hour"],
];

/** A span in words: `second 12` is that from 12 s to 13 s. */
export function wordsOf(span: Span): string {
  const unit = UNITS.find(([length]) => span.to - span.from === length && span.from % length === 0);
  return unit === undefined ? timesIn(span) : `${unit[1]} ${span.from / unit[0]}`;
}

export function timesIn(span: Span): string {
  return `${secondsOf(span.from)} to ${secondsOf(span.to)} s`;
}
