// Memory: what was allocated, what became of it, and which code held it at any moment.

import type { ComponentChildren } from "preact";

import type { AboutRecording } from "../../about";
import { isFile, useAnswer } from "../../ask";
import { shared } from "../../parts/asked";
import { Ends, Figure } from "../../parts/figure";
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
  // The name, the row, its member, and the measure that a flame graph of it has.
  const facts: { name: ComponentChildren; row: [key: string, row: object]; is: string; of?: string }[] = [
    { name: "allocated", row: ["total", total], is: "allocated_bytes", of: "allocated" },
    { name: "blocks", row: ["total", total], is: "allocated_blocks" },
    { name: <span title={LIVE}>live at the end</span>, row: ["total", total], is: "live_bytes", of: "live" },
  ];
  const [peak, ...others] = peaks;
  if (peak !== undefined && others.length === 0) {
    facts.push({ name: <>at the peak, <Figure row={peak} is="at_seconds" /></>, row: ["peak", peak], is: "bytes", of: "peak" });
  }
  facts.push({ name: "temporary", row: ["total", total], is: "temporary_bytes", of: "temporary" });
  if (copied.bytes > 0) {
    facts.push({ name: "copied", row: ["copied", copied], is: "bytes", of: "copied" });
  }
  return (
    <section class="memory-facts" aria-label="All allocations">
      <dl class="facts">
        {facts.map(({ name, row: [key, row], is, of }) => (
          <div key={`${key} ${is}`} data-table="allocations" data-row={key} title={`${is}_low` in row ? `95 % range: ${range(row, is, is.endsWith("blocks"))}` : ""}>
            <dd><Figure row={row} is={is} /></dd>
            <dt>
              {name}
              {`${is}_low` in row && <span class="range-words"> (<Ends row={row} is={is} />)</span>}
              {of !== undefined && !isFile && " "}
              {of !== undefined && !isFile && (
                <a href={link("flame", { of, at: "" })} aria-label={`Flame graph of memory: ${of}`} onClick={(event) => { event.preventDefault(); show("flame", { of, at: "" }); }}>
                  flame
                </a>
              )}
            </dt>
          </div>
        ))}
      </dl>
      <p class="soft quality" data-table="allocations" data-row="all">{howRecorded(allocations)}</p>
    </section>
  );
}

/** What counts as live: a process may have less memory than that, and may free it before it is gone. */
const LIVE = "Live is what was left when its process began to end, also memory that was never written to and so takes no room.";

/** How the allocations were recorded, in a sentence. */
function howRecorded(allocations: Allocations): ComponentChildren {
  const { sampling, bytes_between_samples, total } = allocations;
  const python = total.python_share > 0 && <span data-row="total"><Figure row={total} is="python_share" /> of the bytes are from Python's allocator.</span>;
  if (sampling === "all") {
    return <>Every allocation was counted: these figures are exact. {python} {LIVE}</>;
  }
  return (
    <>
      <Figure row={allocations} is="samples" /> allocations were sampled
      {bytes_between_samples !== null && <>, about one each <Figure row={allocations} is="bytes_between_samples" unit="bytes" /></>}. Ranges in brackets hold the
      true value 95 times in 100. {python} {LIVE}
    </>
  );
}
