// The head of the first view: what ran, for how long, of what a share is one, and how sure that is.

import type { ComponentChildren } from "preact";

import { Amount, Figure } from "../../parts/figure";
import { KindBar, KindLegend } from "../../parts/kinds";
import { Words } from "../../parts/words";
import { terms } from "../../terms";
import type { Part } from "./parts";

export function Head({ summary, hasTimes, children }: { summary: Part; hasTimes: boolean; children: ComponentChildren }) {
  const { recording, selection } = summary;
  const facts: [name: string, row: string, value: ComponentChildren, about?: string][] = [];
  const fact = (name: string, is: string, about?: string) => facts.push([name, "recording", <Figure row={recording} is={is} />, about]);
  if (recording.duration_seconds !== null) {
    fact(recording.query === undefined ? "ran for" : "of time", "duration_seconds", recording.query && "from the first sample of the store that was asked for to the last");
  }
  if (recording.cpu_seconds !== null) {
    // Samples of threads that also wait have a time on a CPU of their own.
    fact(recording.measures === "wall" ? "CPU time, counted" : "CPU time", "cpu_seconds", "of all threads and processes, by the kernel's count");
  }
  if (recording.query !== undefined && recording.measures === "cpu") {
    facts.push(["CPU time", "selection", <Amount row={selection} />, "of all threads, processes and hosts, by samples"]);
  }
  if (selection.cpus !== undefined) {
    facts.push(["CPUs on average", "selection", <Figure row={selection} is="cpus" unit="cpus" />, "CPU time in each second"]);
  }
  fact(recording.processes === 1 ? "process" : "processes", "processes");
  fact(recording.threads === 1 ? "thread" : "threads", "threads");
  facts.push(["samples", "selection", <Figure row={selection} is="samples" />]);
  if (selection.share_margin !== null && selection.share_margin !== undefined) {
    facts.push(["a share is off by at most", "selection", <>±<Figure row={selection} is="share_margin" /></>, "in 95 of 100 recordings"]);
  }
  return (
    <section class="card" aria-label="The whole">
      {recording.query !== undefined && (
        <div class="asked">
          <h2 class="report-words">{recording.query.title}</h2>
          <p class="soft report-words">{[recording.query.rest, ...recording.query.counted].join(" · ")}</p>
        </div>
      )}
      <dl class="facts">
        {facts.map(([name, row, value, about]) => (
          <div key={name} title={about} data-table="whole" data-row={row}>
            <dd>{value}</dd>
            <dt>{name}</dt>
          </div>
        ))}
      </dl>
      {selection.samples > 0 && <p class="soft scale" data-table="whole" data-row="selection">{scale(summary)}</p>}
      {selection.samples === 0 && selection.filter !== null && <p class="verdict">Nothing passes the filter.</p>}
      <KindBar row={selection} />
      <div data-table="whole" data-row="selection">
        <KindLegend row={selection} />
      </div>
      {selection.garbage_share !== undefined && selection.garbage_share > 0 && (
        <p class="soft quality" data-table="whole" data-row="selection"><Figure row={selection} is="garbage_share" /> of the time is garbage collection, which is a part of Python or native time.</p>
      )}
      {children}
      {[...recording.warnings, ...recording.notes].length > 0 && (
        <ul class="notes">
          {recording.warnings.map((text) => (
            <li key={text} class="warning">
              <Words text={text} />
            </li>
          ))}
          {recording.notes.map((text) => (
            <li key={text}>
              <Words text={text} />
            </li>
          ))}
        </ul>
      )}
      <p class="soft quality" data-table="whole" data-row="recording">{quality(summary)}</p>
      {recording.query !== undefined && !hasTimes && /^(cpu|wall)$/.test(recording.measures) && (
        <p class="soft quality"><Words text="With `&step=1m` in the query, there is a timeline." /></p>
      )}
    </section>
  );
}

/** Of what all shares on the page are parts: the measure, its amount, and whose it is. */
function scale({ recording, selection }: Part): ComponentChildren {
  const given = terms(selection.filter ?? "");
  const chosen = (name: string) => given.filter((term) => term.name === name).map(({ value }) => value).join(", ");
  const [threads, processes] = [chosen("thread"), chosen("process")];
  const whose =
    threads !== "" ? `thread ${threads}` : processes !== "" ? `all threads of process ${processes}` : recording.processes === 1 ? "all threads" : "all threads of all processes";
  return (
    <>
      Shares are of <Amount row={selection} />{unitOf(selection, recording)}: {whose}
      {given.length > 0 && ", as far as the filter lets them pass"}.
    </>
  );
}

/** What the samples weigh, in words. */
function unitOf(selection: Part["selection"], { measures, event }: Part["recording"]): string {
  if (selection.events !== undefined) {
    return ` ${event}`;
  }
  if (selection.seconds === undefined) {
    return selection.bytes !== undefined ? " of memory" : selection.blocks !== undefined ? " blocks" : " copies";
  }
  return measures === "wall" ? " of the threads' time, waiting included" : measures === "traced" ? " in function calls" : " of CPU time";
}

/** How far the recording can be trusted, in a sentence. */
function quality({ recording }: Part): ComponentChildren {
  const figure = (is: string) => <Figure row={recording} is={is} />;
  if (recording.engine === "none") {
    return <>What ran was counted and timed as it ran: no samples were taken.</>;
  }
  if (recording.query !== undefined) {
    return (
      <>
        Recorded by <code>profundo watch</code>, or received from other profilers, and kept in a store
        {recording.period_seconds !== null && <> · a sample every {figure("period_seconds")} of a thread</>}
        {recording.samples_lost > 0 && <> · {figure("samples_lost")} samples lost</>}
        {recording.stacks_truncated > 0 && <> · {figure("stacks_truncated")} {recording.stacks_truncated === 1 ? "stack is" : "stacks are"} cut short</>}.
      </>
    );
  }
  if (recording.engine === "unknown") {
    return <>Another tool has recorded this{recording.period_seconds !== null && <> · a sample every {figure("period_seconds")}</>}.</>;
  }
  return (
    <>
      Measures {recording.measures === "cpu" ? "CPU" : recording.measures} time by {recording.engine}
      {recording.period_seconds !== null && <> · a sample every {figure("period_seconds")} of a thread</>}
      {recording.cpu_sampled_share !== null && <> · {figure("cpu_sampled_share")} of the CPU time was sampled</>}
      {" · "}{figure("samples_lost")} samples lost
      {recording.stacks_truncated > 0 && <> · {figure("stacks_truncated")} {recording.stacks_truncated === 1 ? "stack is" : "stacks are"} cut short</>}
      {recording.stacks_broken > 0 && <> · {figure("stacks_broken")} {recording.stacks_broken === 1 ? "stack is" : "stacks are"} not whole</>}
      {recording.own_cost_share !== null && <> · Profundo itself took {figure("own_cost_share")}</>}.
    </>
  );
}
