// The chosen span of time as numbers that can be typed, and the buttons of the window.

import { useEffect, useState } from "preact/hooks";

import type { Span } from "../../canvas/strip";
import { isFile } from "../../ask";
import { show, usePlace } from "../../place";
import { secondsOf } from "../../terms";
import { choose, chosenOf, windowOf, type Mover } from "./window";

export function SpanForm({ whole, mover }: { whole: Span; mover: Mover }) {
  const place = usePlace();
  const chosen = chosenOf(place, whole);
  const key = `${chosen?.from} ${chosen?.to}`;
  const [from, setFrom] = useState("");
  const [to, setTo] = useState("");
  useEffect(() => {
    setFrom(chosen === undefined ? "" : secondsOf(chosen.from));
    setTo(chosen === undefined ? "" : secondsOf(chosen.to));
  }, [key]);
  const isTyped = /^\d+(\.\d+)?$/.test(from) && /^\d+(\.\d+)?$/.test(to) && Number(to) > Number(from);
  const middle = (mover.window.from + mover.window.to) / 2;
  return (
    <>
      {!isFile && (
        <form
          class="span-form"
          onSubmit={(event) => {
            event.preventDefault();
            if (isTyped) {
              choose(place, { from: Number(from) * 1e9, to: Number(to) * 1e9 });
            }
          }}
        >
          <label>
            From <input type="text" inputMode="decimal" value={from} placeholder="seconds" onInput={(event) => setFrom(event.currentTarget.value)} />
          </label>
          <label>
            to <input type="text" inputMode="decimal" value={to} placeholder="seconds" onInput={(event) => setTo(event.currentTarget.value)} />
          </label>
          <button type="submit" disabled={!isTyped}>
            Choose
          </button>
        </form>
      )}
      {chosen !== undefined && (
        <>
          <button type="button" onClick={() => mover.show(chosen)}>
            Zoom to it
          </button>
          <button type="button" onClick={() => choose(place, undefined)}>
            All times
          </button>
        </>
      )}
      <span class="zoom">
        <button type="button" aria-label="Zoom in" title="Zoom in (+, or Ctrl and the wheel)" onClick={() => mover.zoom(0.5, middle)}>
          +
        </button>
        <button type="button" aria-label="Zoom out" title="Zoom out (−)" onClick={() => mover.zoom(2, middle)}>
          −
        </button>
        {windowOf(place) !== undefined && (
          <button type="button" onClick={() => mover.show(undefined)}>
            Whole
          </button>
        )}
      </span>
      {!isFile && (
        <button
          type="button"
          class="plain"
          onClick={() => show("flame", { shape: "time", start: String(Math.round(mover.window.from)), end: String(Math.round(mover.window.to)) })}
        >
          Flame graph in time
        </button>
      )}
      {!isFile && <span class="soft hint">Drag to choose a span of time.</span>}
    </>
  );
}
