// The heatmap: time against the offset within each second, or minute. What recurs in step with the
// clock is a pattern, and a pause is a gap. A chosen square has its flame graph below, and two have their
// difference.

import { Fragment } from "preact";

import type { AboutRecording } from "../../about";
import { isFile, useAnswer } from "../../ask";
import { cellsOf, type Heatmap } from "../../canvas/heat";
import type { Span } from "../../canvas/strip";
import { shared } from "../../parts/asked";
import { Figure } from "../../parts/figure";
import { Waiting } from "../../parts/waiting";
import { Words } from "../../parts/words";
import { change, usePlace } from "../../place";
import { secondsOf, withTimes } from "../../terms";
import { FlamePicture } from "../flame";
import { timeless } from "../timeline";
import { chooseSpans, spansOf, timesIn, wordsOf } from "./chosen";
import { Difference } from "./difference";
import { Squares } from "./squares";

const COLUMNS: [nanoseconds: string, title: string][] = [
  ["", "fitting"],
  ["100000000", "0.1 s"],
  ["1000000000", "second"],
  ["10000000000", "10 seconds"],
  ["60000000000", "minute"],
  ["3600000000000", "hour"],
];

export function HeatmapView({ recording }: { recording: AboutRecording }) {
  const place = usePlace();
  const answer = useAnswer<Heatmap>("heatmap", { ...timeless(shared(place)), column: place.values.column });
  return (
    <section class="heatmap" aria-label="Heatmap">
      <div class="tools">
        {!isFile && (
          <label>
            A column is a{" "}
            <select value={place.values.column ?? ""} onChange={(event) => change({ column: event.currentTarget.value, squares: "" })}>
              {COLUMNS.map(([value, title]) => (
                <option key={value} value={value}>
                  {title}
                </option>
              ))}
            </select>
          </label>
        )}
        {recording.has.waits && (
          <label>
            Shown{" "}
            <select value={place.values.shown ?? "busy"} onChange={(event) => change({ shown: event.currentTarget.value === "busy" ? "" : "waiting" }, false)}>
              <option value="busy">time on a CPU</option>
              <option value="waiting">waits</option>
            </select>
          </label>
        )}
        <span class="soft hint">
          {isFile ? "Point at a square for its time." : "Choose a square, several by dragging, or a column by its time below. With Ctrl a second choice is compared with the first."}
        </span>
      </div>
      <Waiting answer={answer}>{(map) => (
          <>
            <Squares map={map} />
            {map.pauses.length > 0 && <Pauses map={map} />}
            <Chosen map={map} chosen={spansOf(place.values.squares)} />
          </>
        )}</Waiting>
    </section>
  );
}

/** The longest stretches without time on a CPU. */
function Pauses({ map }: { map: Heatmap }) {
  const place = usePlace();
  return (
    <p class="pauses" data-table="heatmap" data-row="all">
      <b><Figure row={map} is="pauses_count" /></b> {map.pauses_count === 1 ? "stretch" : "stretches"} without time on a CPU, the longest at{" "}
      {map.pauses.map(([from, time], at) => {
        const words = <>{secondsOf(from)} s for <Figure row={map} is={`pauses.${at}.1`} unit="time" /></>;
        return (
          <Fragment key={from}>
            {at > 0 && ", "}
            {isFile ? (
              <span>{words}</span>
            ) : (
              <button type="button" class="plain" onClick={() => change({ filter: withTimes(place.values.filter ?? "", { from, to: from + time }) })}>
                {words}
              </button>
            )}
          </Fragment>
        );
      })}
      .
    </p>
  );
}

/** The calls of what is chosen, and the difference of two choices. */
function Chosen({ map, chosen }: { map: Heatmap; chosen: Span[] }) {
  const place = usePlace();
  if (chosen.length === 0) {
    return null;
  }
  if (isFile) {
    return <p class="soft"><Words text="This file has the flame graph of the whole recording only. `profundo view FILE` shows that of a square, and the difference of two." /></p>;
  }
  const filter = (span: Span) => withTimes(place.values.filter ?? "", span);
  const hasSamples = (span: Span) => cellsOf(map, span).some((cell) => map.samples[cell] > 0);
  const [first, second] = chosen;
  const letters = second === undefined ? [""] : ["A: ", "B: "];
  return (
    <div class="squares">
      {second !== undefined && chosen.every(hasSamples) && <Difference before={first} after={second} />}
      <div class={second === undefined ? "" : "pair"}>
        {chosen.map((span, at) => (
          <div key={`${span.from}`}>
            {hasSamples(span) ? (
              <FlamePicture isSmall filter={filter(span)} title={`${letters[at]}calls of ${wordsOf(span)}`} pathName={second === undefined ? "path" : ["path_a", "path_b"][at]} />
            ) : (
              <p class="refusal">From {timesIn(span)} no sample ends: a later one stands for this time. Drag over more squares.</p>
            )}
            <button type="button" onClick={() => change({ filter: filter(span) })}>
              Filter every view by this time
            </button>{" "}
            <button type="button" onClick={() => chooseSpans(chosen.filter((other) => other !== span))}>
              Choose it no more
            </button>
          </div>
        ))}
      </div>
    </div>
  );
}
