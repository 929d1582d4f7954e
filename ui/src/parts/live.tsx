// A recording that grows: the page follows it, until the reader pauses to look back.
//
// A pause is a filter: the end of the time that is shown. So it stands in the address, all views
// obey it, and what is asked meanwhile is answered for the same moment.

import { useEffect } from "preact/hooks";

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
  const isPaused = isHeld || terms(filter).some(({ name }) => name === "to");
  useEffect(() => hold(isPaused), [isPaused]);
  const look = (from: number, to: number) => {
    const span = [
      ...(from > 0 ? [{ name: "from", value: String(from) }] : []),
      { name: "to", value: String(to) },
    ];
    change({ filter: textOfTerms([...others, ...span]), path: "" });
  };
  return (
    <div class="filters live" role="group" aria-label="A recording that grows">
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
