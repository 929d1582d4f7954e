// The window of time that is shown, and the span that is chosen in it. Both stand in the address of the
// page: the window as `start` and `end`, the span in the filter as `from` and `to`.

import { useEffect, useRef, useState } from "preact/hooks";

import { isFile } from "../../ask";
import type { Span } from "../../canvas/strip";
import { tell } from "../../parts/details";
import { change, usePlace, type Place } from "../../place";
import { terms, withTimes } from "../../terms";

/** The window of a place, if it has one. */
export function windowOf(place: Place): Span | undefined {
  const [from, to] = [Number(place.values.start), Number(place.values.end)];
  return place.values.end !== undefined && to > from && from >= 0 ? { from, to } : undefined;
}

/** The chosen span of a place. An end that is open is that of the recording. */
export function chosenOf(place: Place, whole: Span): Span | undefined {
  const list = terms(place.values.filter ?? "");
  const time = (name: string) => {
    const value = list.filter((term) => term.name === name).pop()?.value;
    return value === undefined ? undefined : Number(value) * 1e9;
  };
  const [from, to] = [time("from"), time("to")];
  return from === undefined && to === undefined ? undefined : { from: from ?? whole.from, to: to ?? whole.to };
}

/** The times of a span as a step of the reader's. */
export function choose(place: Place, span: Span | undefined): void {
  if (isFile) {
    tell("This file shows the whole recording. `profundo view FILE` filters by a span of time.");
    return;
  }
  change({ filter: withTimes(place.values.filter ?? "", span), path: "", zoom: "" });
}

/** A span whose ends are no more exact than a pixel. */
export function rounded(span: Span, perPixel: number): Span {
  const unit = 10 ** Math.max(0, Math.floor(Math.log10(perPixel || 1)));
  const round = (time: number) => Math.round(time / unit) * unit;
  return { from: round(span.from), to: Math.max(round(span.to), round(span.from) + unit) };
}

/** Waits until a value has been the same for a moment. */
export function useSettled<T>(value: T, milliseconds: number): T {
  const [settled, setSettled] = useState(value);
  const key = JSON.stringify(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), milliseconds);
    return () => clearTimeout(timer);
  }, [key]);
  return settled;
}

export interface Mover {
  /** The window, which never leaves the recording. */
  window: Span;
  /** Makes the window longer or shorter around a moment. */
  zoom: (factor: number, around: number) => void;
  /** Moves the window by a part of its length. */
  pan: (part: number) => void;
  show: (window: Span | undefined) => void;
}

/** The window, `usual` where the address has none, and how it is moved. Moves that follow each other are one step back. */
export function useWindow(whole: Span, usual: Span = whole): Mover {
  const place = usePlace();
  const lastMove = useRef(0);
  const window = windowOf(place) ?? usual;
  const least = 1000;
  const go = (from: number, to: number) => {
    const length = Math.min(Math.max(to - from, least), whole.to - whole.from || 1);
    const start = Math.min(Math.max(from, whole.from), whole.to - length);
    const isAll = length >= whole.to - whole.from;
    const now = performance.now();
    const isStep = now - lastMove.current > 600;
    lastMove.current = now;
    change(isAll ? { start: "", end: "" } : { start: String(Math.round(start)), end: String(Math.round(start + length)) }, isStep);
  };
  return {
    window,
    zoom: (factor, around) => go(around - (around - window.from) * factor, around + (window.to - around) * factor),
    pan: (part) => {
      const length = window.to - window.from;
      const start = Math.min(Math.max(window.from + part * length, whole.from), Math.max(whole.from, whole.to - length));
      go(start, start + length);
    },
    show: (window) => (window === undefined ? change({ start: "", end: "" }) : go(window.from, window.to)),
  };
}
