// The hottest lines and functions, what threads waited for, and the processes and threads.

import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";

import { base, placeOf } from "../../numbers";
import { tell } from "../../parts/details";
import { Amount, Figure, functionKey } from "../../parts/figure";
import { KindBar } from "../../parts/kinds";
import { link, show } from "../../place";
import type { Function as FunctionRow, Process, SummaryLine, Thread, Wait } from "../../reports";
import { Interval, interval } from "./interval";

/** More rows of processes or threads are shown when the reader asks for them. */
const FIRST = 10;

/** A list of rows, of which the first ones are shown until the reader asks for all. */
function Rows<Row>({ table, rows, children }: { table: string; rows: Row[]; children: (row: Row) => ComponentChildren }) {
  const [isWhole, setWhole] = useState(false);
  // One row more takes no more room than what asks for it.
  const isCut = !isWhole && rows.length > FIRST + 1;
  return (
    <>
      <ol class="hot" data-table={table}>
        {(isCut ? rows.slice(0, FIRST) : rows).map(children)}
      </ol>
      {isCut && (
        <button type="button" class="plain" onClick={() => setWhole(true)}>
          … show all {table}
        </button>
      )}
    </>
  );
}

/** Of the largest share a bar is as wide as its column. */
const largest = (rows: { self_share: number }[]) => Math.max(...rows.map((row) => row.self_share), 1e-9);

export function HotLines({ lines }: { lines: SummaryLine[] }) {
  const most = largest(lines);
  return (
    <section class="card" aria-label="Hottest lines">
      <h2>
        Hottest lines <a href={link("source")}>all lines</a>
      </h2>
      {lines.length === 0 && <p class="soft">No line of source has any of the time.</p>}
      <ol class="hot" data-table="lines">
        {lines.map((line) => (
          <HotLine key={`${line.file}:${line.line}`} line={line} most={most} />
        ))}
      </ol>
    </section>
  );
}

export function HotFunctions({ functions }: { functions: FunctionRow[] }) {
  const most = largest(functions);
  return (
    <section class="card" aria-label="Hottest functions">
      <h2>
        Hottest functions <a href={link("functions")}>all functions</a>
      </h2>
      <ol class="hot" data-table="functions">
        {functions.map((row) => (
          <HotFunction key={`${row.function}${row.file}${row.line}`} row={row} most={most} />
        ))}
      </ol>
    </section>
  );
}

/** What threads waited for, and at which line. */
export function Waits({ waits }: { waits: Wait[] }) {
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
              {wait.kind ?? "unknown"} <bdi>{wait.what?.function ?? ""}</bdi>
              {wait.threads > 1 && <span class="soft"> in <Figure row={wait} is="threads" /> threads</span>}
            </span>
            {wait.at?.file != null && wait.at.line != null ? (
              <a href={link("source", { file: wait.at.file, line: String(wait.at.line) })}>
                {placeOf(wait.at.file, wait.at.line)} {wait.at.function}
              </a>
            ) : (
              <bdi class="soft">{wait.at?.function ?? ""}</bdi>
            )}
          </li>
        ))}
      </ol>
    </section>
  );
}

export function Processes({ processes }: { processes: Process[] }) {
  return (
    <section class="card" aria-label="Processes">
      <h2>Processes</h2>
      <Rows table="processes" rows={processes}>
        {(process) => (
          <li key={process.process} data-row={process.process}>
            <b><Figure row={process} is="share" /></b>
            <KindBar row={process} />
            <button type="button" class="plain" onClick={() => show("overview", { filter: `process=${process.pid}` })}>
              {process.pid} {base(process.command.split(" ")[0])}
            </button>
          </li>
        )}
      </Rows>
    </section>
  );
}

export function Threads({ threads }: { threads: Thread[] }) {
  return (
    <section class="card" aria-label="Threads">
      <h2>Threads</h2>
      <Rows table="threads" rows={threads}>
        {(thread) => (
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
        )}
      </Rows>
    </section>
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
        {placeOf(line.file, line.line)}
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
      <code class="soft">{placeOf(row.file, row.line)}</code>
    </li>
  );
}
