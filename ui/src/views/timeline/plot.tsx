// The surface over the tracks: dragging chooses a span of time, the wheel zooms, and the keyboard does
// both.

import { useRef, useState } from "preact/hooks";
import type { ComponentChildren } from "preact";

import { moment, xOf, type Span } from "../../canvas/strip";
import { change, usePlace } from "../../place";
import { duration } from "../../numbers";
import { choose, chosenOf, rounded, type Mover } from "./window";

interface Props {
  whole: Span;
  mover: Mover;
  label: string;
  /** The moment and the height of the pointer or of the cursor. */
  onPoint?: (time: number, y: number) => void;
  children: ComponentChildren;
}

/** The least way of the pointer that chooses a span, in pixels. */
const WAY = 4;
/** How far an arrow key goes, in parts of the window. */
const STEP = 1 / 100;

export function Plot({ whole, mover, label, onPoint = () => {}, children }: Props) {
  const place = usePlace();
  const box = useRef<HTMLDivElement>(null);
  const [draft, setDraft] = useState<Span | undefined>(undefined);
  const [cursor, setCursor] = useState<number | undefined>(undefined);
  const held = useRef<{ x: number; time: number; isPan: boolean } | undefined>(undefined);
  const anchor = useRef<number | undefined>(undefined);
  const { window } = mover;
  const length = window.to - window.from;
  const chosen = draft ?? chosenOf(place, whole);

  const left = () => box.current?.getBoundingClientRect().left ?? 0;
  const width = () => box.current?.clientWidth || 1;
  const timeAt = (clientX: number) => {
    const part = Math.min(1, Math.max(0, (clientX - left()) / width()));
    return window.from + part * length;
  };
  const between = (a: number, b: number): Span => rounded({ from: Math.min(a, b), to: Math.max(a, b) }, length / width());

  const onPointerDown = (event: PointerEvent) => {
    if (event.button !== 0) {
      return;
    }
    held.current = { x: event.clientX, time: timeAt(event.clientX), isPan: event.altKey };
    box.current?.setPointerCapture(event.pointerId);
  };
  const onPointerMove = (event: PointerEvent) => {
    const time = timeAt(event.clientX);
    setCursor(time);
    onPoint(time, event.clientY);
    const start = held.current;
    if (start === undefined) {
      return;
    }
    if (start.isPan) {
      mover.pan((start.x - event.clientX) / width());
      start.x = event.clientX;
    } else if (draft !== undefined || Math.abs(event.clientX - start.x) >= WAY) {
      setDraft(between(start.time, time));
    }
  };
  const onPointerUp = () => {
    if (draft !== undefined) {
      choose(place, draft);
    }
    held.current = undefined;
    setDraft(undefined);
  };
  const onWheel = (event: WheelEvent) => {
    // Where the page can scroll, the wheel needs a key to zoom; sideways it moves through time.
    const main = document.getElementById("main");
    const scrolls = main !== null && main.scrollHeight > main.clientHeight + 1;
    if (event.ctrlKey || event.metaKey || (!scrolls && !event.shiftKey && event.deltaX === 0)) {
      event.preventDefault();
      mover.zoom(Math.exp(event.deltaY / 300), timeAt(event.clientX));
    } else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
      event.preventDefault();
      mover.pan((event.deltaX || event.deltaY) / width());
    }
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const at = cursor ?? window.from + length / 2;
    const move = (time: number) => {
      const next = Math.min(whole.to, Math.max(whole.from, time));
      if (event.shiftKey) {
        anchor.current ??= at;
        setDraft(between(anchor.current, next));
      }
      setCursor(next);
      onPoint(next, -1);
      if (next > window.to || next < window.from) {
        mover.pan(next > window.to ? 0.25 : -0.25);
      }
    };
    const steps: Record<string, () => void> = {
      ArrowLeft: () => move(at - length * STEP),
      ArrowRight: () => move(at + length * STEP),
      Home: () => move(whole.from),
      End: () => move(whole.to),
      PageUp: () => mover.pan(-0.5),
      PageDown: () => mover.pan(0.5),
      "+": () => mover.zoom(0.5, at),
      "=": () => mover.zoom(0.5, at),
      "-": () => mover.zoom(2, at),
      Enter: () => {
        if (draft !== undefined) {
          choose(place, draft);
          setDraft(undefined);
          anchor.current = undefined;
        } else if (chosen !== undefined) {
          mover.show(chosen);
        }
      },
      Escape: () => {
        anchor.current = undefined;
        if (draft !== undefined) {
          setDraft(undefined);
        } else if (chosen !== undefined) {
          choose(place, undefined);
        } else {
          change({ start: "", end: "" });
        }
      },
    };
    const step = steps[event.key];
    if (step !== undefined && !event.ctrlKey && !event.metaKey && !event.altKey) {
      event.preventDefault();
      event.stopPropagation();
      step();
    }
  };
  const part = (time: number) => `${100 * Math.min(1, Math.max(0, xOf(time, window, 1)))}%`;
  return (
    <div class="tracks" onPointerLeave={() => setCursor(undefined)}>
      {children}
      <div
        class="plot"
        ref={box}
        tabIndex={0}
        role="application"
        aria-label={label}
        onPointerDown={onPointerDown}
        onPointerMove={onPointerMove}
        onPointerUp={onPointerUp}
        onPointerCancel={() => { held.current = undefined; setDraft(undefined); }}
        onDblClick={() => chosen !== undefined && mover.show(chosen)}
        onWheel={onWheel}
        onKeyDown={onKeyDown}
      >
        {chosen !== undefined && chosen.to > window.from && chosen.from < window.to && (
          <>
            <i class="outside" style={{ left: 0, width: part(chosen.from) }} />
            <i class="outside" style={{ left: part(chosen.to), right: 0 }} />
            <i class="chosen-span" style={{ left: part(chosen.from), width: `calc(${part(chosen.to)} - ${part(chosen.from)})` }}>
              <b>{duration((chosen.to - chosen.from) / 1e9)}</b>
            </i>
          </>
        )}
        {cursor !== undefined && cursor >= window.from && cursor <= window.to && (
          <i class="cursor" style={{ left: part(cursor) }}>
            <b>{moment(cursor, length / 1000)}</b>
          </i>
        )}
      </div>
    </div>
  );
}
