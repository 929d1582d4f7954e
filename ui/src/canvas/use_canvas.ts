// A canvas within a box of the page: it follows the box's size and the page's theme, and tells what
// the pointer does in words of the picture. Keys are the picture's own.

import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";

import { useDark } from "../parts/dark";
import type { Sheet, SheetElement } from "./sheet";
import { themeNow, type Theme } from "./theme";

/** A point of the canvas, from its upper left corner. */
export interface Point {
  x: number;
  y: number;
}

/** What a reader does with the pointer. */
export interface Gestures {
  /** The pointer is at a point, or has left. */
  point?: (at: Point | undefined) => void;
  /** The button goes down. */
  press?: (at: Point) => void;
  /** The pointer moves with its button down, by so much since the last time. */
  drag?: (by: Point, at: Point) => void;
  /** The button goes up; without having moved it was a click. */
  release?: (at: Point, isClick: boolean, event: PointerEvent) => void;
  menu?: (at: Point) => void;
  wheel?: (event: WheelEvent) => void;
}

/** A value that is kept from one drawing of the page to the next. */
export interface Held<T> {
  current: T;
}

/** How far a pointer may tremble in a click, in pixels. */
const TREMBLE = 4;

/** A canvas, see the file. `props` are for the canvas, `box` is the element around it. */
export function useCanvas<T extends Sheet>(make: (canvas: HTMLCanvasElement) => T, gestures: Gestures) {
  const box = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const sheet: Held<T | undefined> = useRef<T | undefined>(undefined);
  const isDark = useDark();
  const [isMade, setMade] = useState(false);
  // What is on the screen is what a press finds: all of this is done before the next frame.
  useLayoutEffect(() => {
    if (canvas.current === null || box.current === null) {
      return;
    }
    const made = make(canvas.current);
    sheet.current = made;
    (canvas.current as SheetElement).drawing = made;
    const element = box.current;
    const fit = () => made.resize(element.clientWidth, element.clientHeight);
    fit();
    const observer = new ResizeObserver(fit);
    observer.observe(element);
    setMade(true);
    return () => observer.disconnect();
  }, []);
  const pointer = usePointer(gestures);
  const theme: () => Theme = useMemo(() => () => themeNow(isDark), [isDark]);
  return { box, canvas, sheet, isMade, isDark, theme, props: { ...pointer, ref: canvas } };
}

const pointOf = (event: MouseEvent): Point => ({ x: event.offsetX, y: event.offsetY });

/** The handlers of a canvas's events. */
function usePointer(gestures: Gestures) {
  const held = useRef<{ x: number; y: number; moved: boolean } | undefined>(undefined);
  return {
    onPointerDown: (event: PointerEvent) => {
      if (event.button !== 0) {
        return;
      }
      held.current = { x: event.clientX, y: event.clientY, moved: false };
      (event.currentTarget as HTMLElement).setPointerCapture(event.pointerId);
      gestures.press?.(pointOf(event));
    },
    onPointerMove: (event: PointerEvent) => {
      const last = held.current;
      if (last !== undefined) {
        const by = { x: event.clientX - last.x, y: event.clientY - last.y };
        if (last.moved || Math.abs(by.x) + Math.abs(by.y) > TREMBLE) {
          held.current = { x: event.clientX, y: event.clientY, moved: true };
          gestures.drag?.(by, pointOf(event));
        }
        return;
      }
      gestures.point?.(pointOf(event));
    },
    onPointerUp: (event: PointerEvent) => {
      const last = held.current;
      held.current = undefined;
      if (last !== undefined && event.button === 0) {
        gestures.release?.(pointOf(event), !last.moved, event);
      }
    },
    onPointerCancel: () => {
      held.current = undefined;
      gestures.point?.(undefined);
    },
    onPointerLeave: () => gestures.point?.(undefined),
    onContextMenu: (event: MouseEvent) => {
      if (gestures.menu !== undefined) {
        event.preventDefault();
        gestures.menu(pointOf(event));
      }
    },
    onWheel: (event: WheelEvent) => gestures.wheel?.(event),
  };
}
