// Findings that are worth a look, each with the view that says more: locks that threads wait for, the
// interpreter's lock, lines that seem to leak, processes that grow, and what the recording misses.

import type { ComponentChildren } from "preact";

import type { AboutRecording } from "../../about";
import { isAnswered, useAnswer } from "../../ask";
import { Figure } from "../../parts/figure";
import { shared } from "../../parts/asked";
import { placeWords } from "../../parts/where";
import { Words } from "../../parts/words";
import { link, usePlace } from "../../place";
import type { Allocs, Leak, Memory, ProcessMemory, Thread, Wait } from "../../reports";
import type { Part } from "./parts";

/** Rows of one kind. */
const MOST = 2;
/** A lock that took a smaller part of the recording's time is no finding. */
const LEAST_OF_DURATION = 0.02;
/** Of samples that are missing, from which share on they are one. */
const LEAST_MISSING = 0.01;

export function Findings({
  recording,
  summary,
  waits,
  threads,
  isWanted,
}: {
  recording: AboutRecording;
  summary: Part;
  waits: Wait[] | undefined;
  threads: Thread[] | undefined;
  isWanted: boolean;
}) {
  const { filter, recording: number, mine, runtime } = shared(usePlace());
  const ofAllocs = { filter, recording: number, mine, runtime, what: "allocs", limit: 2000 };
  const ofMemory = { filter, recording: number, mine, runtime, what: "memory" };
  const asks = (is: boolean, question: Record<string, string | number | boolean | undefined>) => (is && isWanted && isAnswered("report", question) ? "report" : undefined);
  const allocs = useAnswer<Allocs>(asks(recording.has.memory, ofAllocs), ofAllocs);
  const memory = useAnswer<Memory>(asks(recording.has.gauges, ofMemory), ofMemory);
  const least = LEAST_OF_DURATION * (summary.recording.duration_seconds ?? 0);
  const found = [
    ...locks(waits ?? [], least),
    ...interpreterLock(threads ?? [], least),
    ...leaks(allocs.value?.allocations?.leaks ?? []),
    ...growing(memory.value?.memory ?? [], recording.has.memory),
    ...missing(summary),
  ];
  if (found.length === 0) {
    return null;
  }
  return (
    <ul class="notes findings" aria-label="Findings">
      {found.map((finding, at) => (
        <li key={at}>{finding}</li>
      ))}
    </ul>
  );
}

/** Locks for which threads wait. */
function locks(waits: Wait[], least: number): ComponentChildren[] {
  const rows = waits.map((wait, at) => ({ wait, at })).filter(({ wait }) => wait.kind === "lock" && wait.seconds >= least && wait.threads > 0);
  return rows.slice(0, MOST).map(({ wait, at }) => (
    <span data-table="waits" data-row={at}>
      <b>Locks:</b> <Figure row={wait} is="threads" /> {wait.threads === 1 ? "thread" : "threads"} waited <Figure row={wait} is="seconds" /> for{" "}
      {wait.locks === undefined || wait.locks < 2 ? "a lock" : <><Figure row={wait} is="locks" /> locks</>} <Place at={wait.at} />. Idle
      workers wait for a lock, too. <a href={link("timeline")}>Timeline</a>
    </span>
  ));
}

/** Threads that wait for the interpreter's lock. */
function interpreterLock(threads: Thread[], least: number): ComponentChildren[] {
  const rows = threads.filter(({ gil_wait_seconds }) => gil_wait_seconds !== null && gil_wait_seconds > least && gil_wait_seconds > 0);
  rows.sort((a, b) => (b.gil_wait_seconds ?? 0) - (a.gil_wait_seconds ?? 0));
  return rows.slice(0, 1).map((thread) => (
    <span data-table="threads" data-row={thread.thread}>
      <b>Interpreter's lock:</b> thread {thread.thread} {thread.name ?? ""} waited <Figure row={thread} is="gil_wait_seconds" /> for it.{" "}
      <a href={link("timeline")}>Timeline</a>
    </span>
  ));
}

/** Lines that seem to leak. */
function leaks(rows: Leak[]): ComponentChildren[] {
  return rows.slice(0, MOST).map((leak, at) => (
    <span data-table="leaks" data-row={at}>
      <b>Leak suspect:</b> <Figure row={leak} is="bytes" /> of old blocks <Place at={leak.at} />, and <Figure row={leak} is="bytes_per_second" />
      {" more. That this is a leak is sure to "}<Figure row={leak} is="probability" />. <a href={link("memory", { table: "leaks" })}>Leaks</a>
    </span>
  ));
}

/** Processes whose memory grows for certain. */
function growing(rows: ProcessMemory[], hasLines: boolean): ComponentChildren[] {
  const sure = rows.filter(({ growth }) => growth !== null && growth.bytes_per_second_low > 0);
  return sure.slice(0, MOST).map(({ pid, growth }) =>
    growth === null ? null : (
      <span data-table="growth" data-row={pid}>
        <b>Growth:</b> the memory of process {pid} grew by <Figure row={growth} is="bytes_per_second" />, for the last <Figure row={growth} is="seconds" />.{" "}
        {hasLines ? "" : <Words text="`--memory` records which lines allocate it. " />}
        <a href={link("memory")}>Memory</a>
      </span>
    ),
  );
}

/** What the recording misses, with the causes. Where much is missing, the recording itself warns. */
function missing({ recording }: Part): ComponentChildren[] {
  const isWarned = (of: string) => /^(cpu|thread)_seconds$/.test(of) && recording.warnings.length > 0;
  const rows = recording.missing.filter(({ of, share }) => share >= LEAST_MISSING && !isWarned(of));
  return rows.map((row) => (
    <span data-table="missing" data-row={row.of}>
      <b>Missing:</b> <Figure row={row} is="share" /> of the {OF[row.of] ?? row.of}
      {row.causes.length > 0 && `: ${row.causes.map(({ cause }) => cause).join(", ")}`}.
    </span>
  ));
}

const OF: Record<string, string> = {
  cpu_seconds: "CPU time",
  thread_seconds: "threads' time",
  read_and_written_bytes: "bytes read and written",
  allocated_bytes: "allocated memory",
};

function Place({ at }: { at: { function?: string | null; file?: string | null; line?: number | null } | null }) {
  const words = placeWords(at);
  return at?.file != null && at.line != null ? (
    <>
      in <a href={link("source", { file: at.file, line: String(at.line) })}>{words}</a>
    </>
  ) : (
    <>in {words}</>
  );
}
