// The memory of a process over time. A click chooses a moment, and the table below shows who held
// memory then.

import type { ComponentChildren } from "preact";
import { useMemo, useState } from "preact/hooks";

import type { AboutRecording } from "../../about";
import { isFile, useAnswer } from "../../ask";
import { base, bytes } from "../../numbers";
import { shared } from "../../parts/asked";
import { Ends, Figure } from "../../parts/figure";
import { Series, type Curve } from "../../parts/series";
import { Table, type Column } from "../../parts/table";
import { Waiting } from "../../parts/waiting";
import { change, usePlace } from "../../place";
import type { Allocations, Look, Memory, ProcessMemory } from "../../reports";
import { memoryQuestion } from ".";

const CURVES: [title: string, about: string, is: keyof Look][] = [
  ["resident (RSS)", "in memory, shared pages among it", "resident_bytes"],
  ["proportional (PSS)", "its part of what is in memory", "proportional_bytes"],
  ["heap in use", "in blocks of allocators", "in_use_bytes"],
  ["slack", "kept by allocators, in no block", "slack_bytes"],
  ["mapped", "mapped by the program itself", "mapped_bytes"],
  ["Python's arenas", "of Python's own allocator", "arena_bytes"],
];

/** The processes that the list offers. */
const MOST_PROCESSES = 200;

export function OverTime({ recording, allocations }: { recording: AboutRecording; allocations?: Allocations }) {
  const place = usePlace();
  const question = memoryQuestion(shared(place));
  const answer = useAnswer<Memory>(recording.has.gauges ? "report" : undefined, { ...question, what: "memory" });
  if (!recording.has.gauges) {
    return allocations === undefined ? null : <p class="memory-note soft">How much memory its processes had was not looked at.</p>;
  }
  return (
    <Waiting answer={answer}>
      {({ memory }) => {
        const wanted = Number(place.values.pid ?? -1);
        const process = memory.find(({ pid }) => pid === wanted) ?? most(memory);
        return process === undefined ? (
          <p class="memory-note soft">No process passes the filter.</p>
        ) : (
          <OneProcess process={process} all={memory} hasMemory={recording.has.memory} />
        );
      }}
    </Waiting>
  );
}

/** The process that had most. */
function most(memory: ProcessMemory[]): ProcessMemory | undefined {
  return memory.reduce<ProcessMemory | undefined>((best, next) => (best === undefined || next.peak_bytes > best.peak_bytes ? next : best), undefined);
}

function OneProcess({ process, all, hasMemory }: { process: ProcessMemory; all: ProcessMemory[]; hasMemory: boolean }) {
  const place = usePlace();
  const [isOpen, setOpen] = useState(false);
  const { times, curves } = useMemo(() => curvesOf(process), [process]);
  const at = place.values.at === undefined ? undefined : Number(place.values.at);
  const choose = (seconds: number) => {
    if (hasMemory && !isFile) {
      change({ at: seconds.toFixed(6), table: "held" });
    }
  };
  return (
    <section class="over-time" aria-label="Memory over time">
      <div class="tools">
        <h2>Memory over time</h2>
        {all.length > 1 && (
          <label>
            Process{" "}
            <select value={String(process.pid)} onChange={(event) => change({ pid: event.currentTarget.value })}>
              {all.slice(0, MOST_PROCESSES).map(({ pid, command, peak_bytes }) => (
                <option key={pid} value={String(pid)}>
                  {`${pid} ${short(command)} (${bytes(peak_bytes)})`}
                </option>
              ))}
            </select>
          </label>
        )}
        <span class="soft" data-table="memory" data-row={process.process}>
          at most <b><Figure row={process} is="peak_bytes" /></b>
          {process.peak_at_seconds !== null && <> at <Figure row={process} is="peak_at_seconds" /></>}, <Figure row={process} is="end_bytes" /> at the end
          {growth(process)}
        </span>
        {hasMemory && !isFile && <span class="soft">Click a moment to see who held the memory then.</span>}
      </div>
      {unknown(process, hasMemory) !== "" && <p class="memory-note soft">{unknown(process, hasMemory)}</p>}
      <Series times={times} curves={curves} at={at} onChoose={choose} label={`Memory of process ${process.pid} over time`} />
      <details class="as-table" onToggle={(event) => setOpen(event.currentTarget.open)}>
        <summary>As a table</summary>
        {isOpen && <Table rows={process.looks} columns={COLUMNS} label="Memory over time" name="looks" keyOf={(look) => String(look.at_seconds)} sortedBy={-1} onChoose={(look) => choose(look.at_seconds)} />}
      </details>
    </section>
  );
}

/** Why a curve is not there, or which option records it. */
function unknown({ looks }: ProcessMemory, hasMemory: boolean): string {
  const isKnown = (of: (look: Look) => number | null) => looks.some((look) => of(look) !== null);
  const words = [];
  if (!isKnown((look) => look.proportional_bytes)) {
    words.push("The kernel did not tell what part of shared memory is the process's own (PSS).");
  } else if ((looks[looks.length - 1]?.proportional_bytes ?? null) === null) {
    words.push("PSS is looked at seldom, because the kernel goes through all pages for it: its curve ends at the last such look.");
  }
  if (!hasMemory) {
    words.push("Bytes in blocks, slack and mapped memory are known where allocations are recorded: `profundo run --memory`.");
  } else if (!isKnown((look) => look.slack_bytes)) {
    words.push("Slack is not known: the process began as a copy of another one, or has blocks whose pages were never touched.");
  }
  return words.join(" ");
}

/** Growth in the second half, where its range leaves out zero. */
function growth(process: ProcessMemory): ComponentChildren {
  return process.growth === null || process.growth.bytes_per_second_low <= 0 ? null : (
    <>
      ; it grew by <Figure row={process} is="growth.bytes_per_second" /> (<Ends row={process} is="growth.bytes_per_second" />) in the last <Figure row={process} is="growth.seconds" />
    </>
  );
}

function short(command: string): string {
  const [program, ...words] = command.split(" ");
  return [base(program), ...words].join(" ").slice(0, 60);
}

function curvesOf(process: ProcessMemory): { times: number[]; curves: Curve[] } {
  const curves = CURVES.map(([title, , is], number): Curve => ({ title, values: process.looks.map((look) => look[is]), isFilled: number === 0, isSeldom: number === 1 }));
  return {
    times: process.looks.map((look) => look.at_seconds),
    curves: curves.filter(({ values }) => values.some((value) => value !== null && value > 0)),
  };
}

const COLUMNS: Column<Look>[] = [
  { title: "At", cell: (look) => <Figure row={look} is="at_seconds" />, isNumber: true, width: "7em" },
  ...CURVES.map(([title, about, is]): Column<Look> => ({ title, about, cell: (look) => <Figure row={look} is={is} />, isNumber: true })),
  { title: "page faults", cell: (look) => look.minor_faults + look.major_faults > 0 && <Figure row={look} is="minor_faults" />, isNumber: true, about: "without reading from a disk, so far" },
];
