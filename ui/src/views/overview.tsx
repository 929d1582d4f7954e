// The first view: what ran, where the time went, what stands out, and how sure that is.

import type { ComponentChildren } from "preact";

import type { AboutRecording } from "../about";
import { useAnswer } from "../ask";
import { base, percent } from "../numbers";
import { shared } from "../parts/asked";
import { tell } from "../parts/details";
import { Amount, Figure, functionKey } from "../parts/figure";
import { KindBar, KindLegend } from "../parts/kinds";
import { Waiting } from "../parts/waiting";
import { Words } from "../parts/words";
import { link, show, usePlace } from "../place";
import type { Function as FunctionRow, Summary, SummaryLine, Wait } from "../reports";
import { ExactView } from "./exact";
import { FlamePicture } from "./flame";
import { TimeTrack } from "./timeline/small";

export function OverviewView({ recording }: { recording: AboutRecording }) {
  const place = usePlace();
  const summary = useAnswer<Summary>("report", { ...shared(place), what: "summary" });
  // Of exceptions alone, and of calls without times, the summary is what was counted.
  if (summary.value !== undefined && summary.value.profundo.report !== "summary") {
    return <ExactView recording={recording} />;
  }
  return (
    <div class="overview">
      <Waiting answer={summary}>{(summary) => <Head summary={summary} />}</Waiting>
      <TimeTrack recording={recording} />
      {(recording.has.samples || recording.has.memory) && <FlamePicture isSmall />}
      <Waiting answer={summary}>{(summary) => <Tables summary={summary} />}</Waiting>
    </div>
  );
}

function Head({ summary }: { summary: Summary }) {
  const { recording, selection } = summary;
  const facts: [name: string, row: string, value: ComponentChildren, about?: string][] = [];
  const fact = (name: string, is: string, about?: string) => facts.push([name, "recording", <Figure row={recording} is={is} />, about]);
  if (recording.duration_seconds !== null) {
    fact("ran for", "duration_seconds");
  }
  if (recording.cpu_seconds !== null) {
    fact("CPU time", "cpu_seconds", "of all threads and processes, by the kernel's count");
  }
  fact(recording.processes === 1 ? "process" : "processes", "processes");
  fact(recording.threads === 1 ? "thread" : "threads", "threads");
  facts.push(["samples", "selection", <Figure row={selection} is="samples" />]);
  if (selection.share_margin !== null && selection.share_margin !== undefined) {
    facts.push(["a share is off by at most", "selection", <>±<Figure row={selection} is="share_margin" /></>, "in 95 of 100 recordings"]);
  }
  return (
    <section class="card" aria-label="The whole">
      <dl class="facts">
        {facts.map(([name, row, value, about]) => (
          <div key={name} title={about} data-table="whole" data-row={row}>
            <dd>{value}</dd>
            <dt>{name}</dt>
          </div>
        ))}
      </dl>
      <KindBar row={selection} />
      <div data-table="whole" data-row="selection">
        <KindLegend row={selection} />
      </div>
      {selection.garbage_share !== undefined && selection.garbage_share > 0 && (
        <p class="soft quality" data-table="whole" data-row="selection"><Figure row={selection} is="garbage_share" /> of the time is garbage collection, which is a part of Python or native time.</p>
      )}
      {summary.verdict.length > 0 && (
        <p class="verdict">
          <Words text={summary.verdict} />
        </p>
      )}
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
    </section>
  );
}

/** How far the recording can be trusted, in a sentence. */
function quality({ recording }: Summary): ComponentChildren {
  const figure = (is: string) => <Figure row={recording} is={is} />;
  return (
    <>
      Measures {recording.measures} time by {recording.engine}
      {recording.period_seconds !== null && <> · a sample every {figure("period_seconds")} of a thread</>}
      {recording.cpu_sampled_share !== null && <> · {figure("cpu_sampled_share")} of the CPU time was sampled</>}
      {" · "}{figure("samples_lost")} samples lost
      {recording.stacks_truncated > 0 && <> · {figure("stacks_truncated")} stacks are cut short</>}
      {recording.stacks_broken > 0 && <> · {figure("stacks_broken")} stacks are not whole</>}
      {recording.own_cost_share !== null && <> · Profundo itself took {figure("own_cost_share")}</>}.
    </>
  );
}

function Tables({ summary }: { summary: Summary }) {
  const most = Math.max(...summary.lines.map((line) => line.self_share), ...summary.functions.map((f) => f.self_share), 1e-9);
  return (
    <div class="pair">
      <section class="card" aria-label="Hottest lines">
        <h2>
          Hottest lines <a href={link("source")}>all lines</a>
        </h2>
        <ol class="hot" data-table="lines">
          {summary.lines.map((line) => (
            <HotLine key={`${line.file}:${line.line}`} line={line} most={most} />
          ))}
        </ol>
      </section>
      <section class="card" aria-label="Hottest functions">
        <h2>
          Hottest functions <a href={link("functions")}>all functions</a>
        </h2>
        <ol class="hot" data-table="functions">
          {summary.functions.map((row) => (
            <HotFunction key={`${row.function}${row.file}${row.line}`} row={row} most={most} />
          ))}
        </ol>
      </section>
      {summary.waits !== undefined && summary.waits.length > 0 && <Waits waits={summary.waits} />}
      {summary.processes.length > 1 && (
        <section class="card" aria-label="Processes">
          <h2>Processes</h2>
          <ol class="hot" data-table="processes">
            {summary.processes.map((process) => (
              <li key={process.process} data-row={process.process}>
                <b><Figure row={process} is="share" /></b>
                <KindBar row={process} />
                <button type="button" class="plain" onClick={() => show("overview", { filter: `process=${process.pid}` })}>
                  {process.pid} {base(process.command.split(" ")[0])}
                </button>
              </li>
            ))}
          </ol>
        </section>
      )}
      {summary.threads.length > 1 && (
        <section class="card" aria-label="Threads">
          <h2>Threads</h2>
          <ol class="hot" data-table="threads">
            {summary.threads.map((thread) => (
              <li key={thread.thread} data-row={thread.thread}>
                <b><Figure row={thread} is="share" /></b>
                <KindBar row={thread} />
                <button type="button" class="plain" onClick={() => show("overview", { filter: `thread=${thread.thread}` })}>
                  {thread.thread} {thread.name ?? ""}
                </button>
                {thread.gil_wait_seconds !== null && thread.gil_wait_seconds > 0 && (
                  <span class="soft">waited <Figure row={thread} is="gil_wait_seconds" /> for the interpreter's lock</span>
                )}
              </li>
            ))}
          </ol>
        </section>
      )}
    </div>
  );
}

/** What threads waited for, and at which line. */
function Waits({ waits }: { waits: Wait[] }) {
  const most = Math.max(...waits.map(({ seconds }) => seconds));
  return (
    <section class="card" aria-label="Waiting">
      <h2>Waiting</h2>
      <ol class="hot" data-table="waits">
        {waits.map((wait, at) => (
          <li key={at} data-row={at}>
            <b><Figure row={wait} is="seconds" /></b>
            <span class="bar" aria-hidden="true">
              <i class="kind-waiting" style={{ width: `${(100 * wait.seconds) / most}%` }} />
            </span>
            <span>
              {wait.kind ?? "unknown"} {wait.what?.function ?? ""}
              {wait.threads > 1 && <span class="soft"> in <Figure row={wait} is="threads" /> threads</span>}
            </span>
            {wait.at?.file != null && wait.at.line != null ? (
              <a href={link("source", { file: wait.at.file, line: String(wait.at.line) })}>
                {base(wait.at.file)}:{wait.at.line} {wait.at.function}
              </a>
            ) : (
              <span class="soft">{wait.at?.function ?? ""}</span>
            )}
          </li>
        ))}
      </ol>
    </section>
  );
}

/** A share with its interval, in words. */
export function interval(row: { self_share_low: number | null; self_share_high: number | null }): string {
  return row.self_share_low === null || row.self_share_high === null
    ? ""
    : `${percent(row.self_share_low)} to ${percent(row.self_share_high)}`;
}

/** The interval of a share, behind it. */
export function Interval({ row }: { row: { self_share_low: number | null; self_share_high: number | null } }) {
  return row.self_share_low === null || row.self_share_high === null ? null : (
    <>, <Figure row={row} is="self_share_low" /> to <Figure row={row} is="self_share_high" /></>
  );
}

function HotLine({ line, most }: { line: SummaryLine; most: number }) {
  const where = `${line.file}:${line.line}`;
  return (
    <li
      data-row={where}
      onMouseEnter={() =>
        tell(
          <span data-table="lines" data-row={where}>
            <b>{where}</b> <bdi>{line.function}</bdi> · self <Amount row={line} prefix="self_" /> (<Figure row={line} is="self_share" />
            <Interval row={line} />) · total <Amount row={line} prefix="total_" /> (<Figure row={line} is="total_share" />)
          </span>,
        )
      }
    >
      <b title={interval(line)}>
        <Figure row={line} is="self_share" />
      </b>
      <KindBar row={line} prefix="self_" most={most} />
      <a href={link("source", { file: line.file, line: String(line.line) })}>
        {base(line.file)}:{line.line}
      </a>
      <code>{line.text ?? line.function}</code>
    </li>
  );
}

function HotFunction({ row, most }: { row: FunctionRow; most: number }) {
  const name = row.function ?? "[unknown]";
  return (
    <li
      data-row={functionKey(row)}
      onMouseEnter={() =>
        tell(
          <span data-table="functions" data-row={functionKey(row)}>
            <b>{name}</b> <bdi>{row.file ?? ""}</bdi> · self <Amount row={row} prefix="self_" /> (<Figure row={row} is="self_share" />
            <Interval row={row} />) · total <Amount row={row} prefix="total_" /> (<Figure row={row} is="total_share" />)
          </span>,
        )
      }
    >
      <b title={interval(row)}>
        <Figure row={row} is="self_share" />
      </b>
      <KindBar row={row} prefix="self_" most={most} />
      <a href={link("flame", { function: name, file: row.file ?? "" })}>{name}</a>
      <code class="soft">{row.file === null ? "" : `${base(row.file)}:${row.line ?? ""}`}</code>
    </li>
  );
}
