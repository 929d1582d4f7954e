// What the samples of all views weigh: time, or memory in place of time. It stands in the row of the
// filter, for recordings of memory.

import { useEffect } from "preact/hooks";

import type { AboutRecording } from "../about";
import { duration } from "../numbers";
import { change, usePlace } from "../place";

const PARTS: [name: string, title: string, about: string][] = [
  ["allocated", "memory: allocated", "All that was allocated, freed or not"],
  ["live", "memory: live", "What was not freed when the program began to end"],
  ["peak", "memory: at the peak", "What was live when its process had most"],
  ["temporary", "memory: temporary", "Blocks freed before their thread allocated anything else"],
  ["copied", "memory: copied", "Bytes that were copied from one place to another"],
];

export function MeasureOf({ recording }: { recording: AboutRecording }) {
  const { of = "", count = "", at } = usePlace().values;
  const { samples, copies } = recording.has;
  useEffect(() => {
    // Without samples of time there is nothing else to look at.
    if (!samples && of === "") {
      change({ of: "allocated" }, false);
    }
  }, [samples, of]);
  return (
    <>
      <label>
        <span class="hidden">What is shown: time or memory</span>
        <select value={of} onChange={(event) => change({ of: event.currentTarget.value, at: "", path: "" })}>
          {samples && <option value="">time</option>}
          {PARTS.filter(([name]) => name !== "copied" || copies).map(([name, title, about]) => (
            <option key={name} value={name} title={about}>
              {title}
            </option>
          ))}
        </select>
      </label>
      {of !== "" && (
        <label>
          <input type="checkbox" checked={count === "1"} onChange={(event) => change({ count: event.currentTarget.checked ? "1" : "" })} />{" "}
          {of === "copied" ? "number of copies" : "number of blocks"}
        </label>
      )}
      {of === "live" && at !== undefined && (
        <span class="chip">
          <b>live at</b> {duration(Number(at))}
          <button type="button" aria-label="Remove the moment: what was live at the end" onClick={() => change({ at: "", path: "" })}>
            ×
          </button>
        </span>
      )}
    </>
  );
}
