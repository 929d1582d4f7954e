// A small track of CPU and memory over time. A span of time that is dragged over filters every view.

import { useMemo } from "preact/hooks";

import { useAnswer } from "../../ask";
import type { AboutRecording } from "../../about";
import { BUSY } from "../../canvas/activities";
import { drawAxis, moment } from "../../canvas/strip";
import { shared } from "../../parts/asked";
import { ActivityLegend } from "../../parts/activities";
import { tell } from "../../parts/details";
import { Strip } from "../../parts/strip";
import { Waiting } from "../../parts/waiting";
import { link, usePlace } from "../../place";
import type { Timeline } from "./answer";
import { Plot } from "./plot";
import { cpuRow, largestMemory } from "./rows";
import { Unplaced } from "./unplaced";
import { useWindow } from "./window";

export function TimeTrack({ recording }: { recording: AboutRecording }) {
  const place = usePlace();
  const isThere = recording.has.times || recording.has.gauges;
  const { filter, recording: number, mine, runtime } = shared(place);
  const answer = useAnswer<Timeline>(isThere ? "timeline" : undefined, { filter, recording: number, mine, runtime, tracks: 0 });
  if (!isThere || answer.error !== undefined) {
    return null;
  }
  return (
    <section class="card time-track" aria-label="CPU and memory over time">
      <h2>
        Over time <a href={link("timeline")}>threads and states</a>
      </h2>
      <Waiting answer={answer}>{(timeline) => <Small answer={timeline} />}</Waiting>
    </section>
  );
}

function Small({ answer }: { answer: Timeline }) {
  const whole = { from: answer.span[0], to: answer.span[1] };
  const mover = useWindow(whole);
  const rows = useMemo(() => [...(answer.all.total > 0 ? [cpuRow(answer)] : []), ...largestMemory(answer)], [answer]);
  const busy = Object.fromEntries(BUSY.map((name) => [name, answer.all.times[name] ?? 0]));
  return (
    <>
      <div class="rows">
        <Plot
          whole={whole}
          mover={{ ...mover, window: whole, zoom: () => undefined, pan: () => undefined, show: () => undefined }}
          label="CPU and memory over time. Arrow keys with Shift choose a span of time, and Enter filters by it. The timeline has the same numbers as a table."
          onPoint={(time) =>
            tell(
              <>
                <b>{`at ${moment(time, answer.step)}`}</b>
                {rows.map((row) => (
                  <span key={row.id} data-table="tracks" data-row={row.key ?? row.id}>
                    {" "}
                    · {row.title}: {row.words(time)}
                  </span>
                ))}
              </>,
            )
          }
        >
          {rows.map((row) => (
            <div key={row.id} class="track">
              <span class="name">
                <b>{row.title}</b> <span class="soft">{row.note}</span>
              </span>
              <div>
                <Strip height={row.height} window={whole} label={`${row.title} ${row.note}`} draw={row.draw} />
              </div>
            </div>
          ))}
          <div class="track axis" aria-hidden="true">
            <span />
            <div>
              <Strip height={20} window={whole} label="Seconds" draw={drawAxis} />
            </div>
          </div>
        </Plot>
      </div>
      <ActivityLegend times={busy} />
      <Unplaced answer={answer} />
    </>
  );
}
