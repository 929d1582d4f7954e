// A recording that grows: the page follows it, until the reader pauses to look back.
//
// A pause is a filter: the end of the time that is shown. So it stands in the address, all views
// obey it, and what is asked meanwhile is answered for the same moment. When the program has ended,
// the page says so.

import { useEffect, useRef } from "preact/hooks";

import type { AboutRecording } from "../about";
import { hold, useHeld } from "../ask";
import { duration } from "../numbers";
import { change, usePlace } from "../place";
import { terms, textOfTerms } from "../terms";

/** The lengths of time that can be looked back at, in seconds and in words. */
const BACK: [number, string][] = [
  [10, "10 seconds"],
  [60, "minute"],
  [600, "10 minutes"],
];

export function Live({ recording }: { recording: AboutRecording }) {
  const place = usePlace();
  const isHeld = useHeld();
  const filter = place.values.filter ?? "";
  const now = recording.duration_seconds ?? 0;
  const others = terms(filter).filter(({ name }) => name !== "from" && name !== "to");
  const isGrowing = recording.is_growing;
  const hasGrown = useRef(isGrowing);
  hasGrown.current ||= isGrowing;
  const isPaused = isGrowing && (isHeld || terms(filter).some(({ name }) => name === "to"));
  useEffect(() => hold(isPaused), [isPaused]);
  const look = (from: number, to: number) => {
    const span = [
      ...(from > 0 ? [{ name: "from", value: from.toFixed(3) }] : []),
      { name: "to", value: to.toFixed(3) },
    ];
    change({ filter: textOfTerms([...others, ...span]), path: "" });
  };
  if (!isGrowing) {
    return !hasGrown.current ? null : (
      <div class="filters live" role="region" aria-label="A recording that has ended">
        <span role="status">
          <i class="dot" /> Ended{now > 0 ? ` · ${duration(now)} were recorded` : ""}
        </span>
        {terms(filter).some(({ name }) => name === "to") && (
          <button type="button" onClick={() => change({ filter: textOfTerms(others), path: "" })}>
            Show all of it
          </button>
        )}
      </div>
    );
  }
  return (
    <div class="filters live" role="region" aria-label="A recording that grows">
      <span role="status">
        <i class={isPaused ? "dot" : "dot on"} /> {isPaused ? "Paused" : "Recording"}
        {now > 0 ? ` · ${duration(now)} so far` : ""}
      </span>
      {isPaused ? (
        <button type="button" onClick={() => { hold(false); change({ filter: textOfTerms(others), path: "" }); }}>
          Follow
        </button>
      ) : (
        <button type="button" disabled={now === 0} onClick={() => look(0, now)}>
          Pause
        </button>
      )}
      {BACK.filter(([seconds]) => seconds < now).map(([seconds, words]) => (
        <button key={seconds} type="button" onClick={() => look(now - seconds, now)}>
          The last {words}
        </button>
      ))}
    </div>
  );
}
