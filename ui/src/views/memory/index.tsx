// Memory: what was allocated, what became of it, and which code held it at any moment.

import type { AboutRecording } from "../../about";
import { isFile, useAnswer } from "../../ask";
import { bytes, count, duration, percent } from "../../numbers";
import { shared } from "../../parts/asked";
import { range } from "../../parts/range";
import { Waiting } from "../../parts/waiting";
import { change, link, show, usePlace } from "../../place";
import type { Allocations, Allocs } from "../../reports";
import { OverTime } from "./over_time";
import { Tables } from "./tables";

/** Rows of a table. */
export const ROWS = 2000;

/** The shared values that matter here: the figures are those of memory, whatever other views show. */
export function memoryQuestion(values: ReturnType<typeof shared>) {
  const { filter, recording, mine, runtime } = values;
  return { filter, recording, mine, runtime };
}

export function MemoryView({ recording }: { recording: AboutRecording }) {
  const place = usePlace();
  const question = memoryQuestion(shared(place));
  const type = place.values.type;
  const allocs = useAnswer<Allocs>(recording.has.memory ? "report" : undefined, { ...question, what: "allocs", limit: ROWS, type });
  return (
    <div class="memory">
      <OverTime recording={recording} allocations={allocs.value?.allocations ?? undefined} />
      {recording.has.memory ? (
        <Waiting answer={allocs}>
          {({ allocations }) =>
            allocations === null ? (
              <p class="soft">No allocation was sampled: the program made none, or only a few small ones.</p>
            ) : (
              <>
                <Facts allocations={allocations} />
                {type !== undefined && (
                  <p class="memory-note">
                    <span class="chip">
                      <b>type</b> {type}
                      <button type="button" aria-label="Show all types" onClick={() => change({ type: "" })}>
                        ×
                      </button>
                    </span>{" "}
                    <span class="soft">All figures are those of blocks of this type.</span>
                  </p>
                )}
                <Tables allocations={allocations} recording={recording} />
              </>
            )
          }
        </Waiting>
      ) : (
        <p class="refusal">
          The recording says how much memory processes had, and not what they allocated: <code>profundo run --memory</code> records that.
        </p>
      )}
    </div>
  );
}

function Facts({ allocations }: { allocations: Allocations }) {
  const { total, peaks, copied } = allocations;
  // The name, the figure, its range, and the measure that a flame graph of it has.
  const facts: [name: string, value: string, ends: string, of?: string][] = [
    ["allocated", bytes(total.allocated_bytes), range(total, "allocated_bytes"), "allocated"],
    ["blocks", count(total.allocated_blocks), range(total, "allocated_blocks", true)],
    ["live at the end", bytes(total.live_bytes), range(total, "live_bytes"), "live"],
  ];
  const [peak, ...others] = peaks;
  if (peak !== undefined && others.length === 0) {
    facts.push([`at the peak, ${duration(peak.at_seconds)}`, bytes(peak.bytes), range(peak, "bytes"), "peak"]);
  }
  facts.push(["temporary", bytes(total.temporary_bytes), range(total, "temporary_bytes"), "temporary"]);
  if (copied.bytes > 0) {
    facts.push(["copied", bytes(copied.bytes), range(copied, "bytes"), "copied"]);
  }
  return (
    <section class="memory-facts" aria-label="All allocations">
      <dl class="facts">
        {facts.map(([name, value, ends, of]) => (
          <div key={name} title={ends === "" ? "" : `95 % range: ${ends}`}>
            <dd>{value}</dd>
            <dt>
              {name}
              {ends !== "" && <span class="range-words"> ({ends})</span>}
              {of !== undefined && !isFile && " "}
              {of !== undefined && !isFile && (
                <a href={link("flame", { of, at: "" })} aria-label={`Flame graph of what was ${name}`} onClick={(event) => { event.preventDefault(); show("flame", { of, at: "" }); }}>
                  flame
                </a>
              )}
            </dt>
          </div>
        ))}
      </dl>
      <p class="soft quality">{howRecorded(allocations)}</p>
    </section>
  );
}

/** How the allocations were recorded, in a sentence. */
function howRecorded({ sampling, bytes_between_samples, samples, total }: Allocations): string {
  const python = `${percent(total.python_share)} of the bytes are from Python's allocator.`;
  if (sampling === "all") {
    return `Every allocation was counted: these figures are exact. ${python}`;
  }
  const every = bytes_between_samples === null ? "" : `, about one each ${bytes(bytes_between_samples)}`;
  return `${count(samples)} allocations were sampled${every}. Ranges in brackets hold the true value 95 times in 100. ${python}`;
}
