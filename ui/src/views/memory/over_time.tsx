// The memory of a process over time. A click chooses a moment, and the table below shows who held
// memory then.

import { useMemo, useState } from "preact/hooks";

import type { AboutRecording } from "../../about";
import { isFile, useAnswer } from "../../ask";
import { base, bytes, duration } from "../../numbers";
import { shared } from "../../parts/asked";
import { Series, type Curve } from "../../parts/series";
import { Table, type Column } from "../../parts/table";
import { Waiting } from "../../parts/waiting";
import { change, usePlace } from "../../place";
import type { Allocations, Look, Memory, ProcessMemory } from "../../reports";
import { memoryQuestion } from ".";

const CURVES: [title: string, about: string, of: (look: Look) => number | null][] = [
  ["resident (RSS)", "in memory, shared pages among it", (look) => look.resident_bytes],
  ["proportional (PSS)", "its part of what is in memory", (look) => look.proportional_bytes],
  ["heap in use", "in blocks of allocators", (look) => look.in_use_bytes],
  ["slack", "kept by allocators, in no block", (look) => look.slack_bytes],
  ["mapped", "mapped by the program itself", (look) => look.mapped_bytes],
  ["Python's arenas", "of Python's own allocator", (look) => look.arena_bytes],
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
        <span class="soft">
          at most <b>{bytes(process.peak_bytes)}</b>
          {process.peak_at_seconds !== null && ` at ${duration(process.peak_at_seconds)}`}, {bytes(process.end_bytes)} at the end
          {growth(process)}
        </span>
        {hasMemory && !isFile && <span class="soft">Click a moment to see who held the memory then.</span>}
      </div>
      {unknown(process, hasMemory) !== "" && <p class="memory-note soft">{unknown(process, hasMemory)}</p>}
      <Series times={times} curves={curves} at={at} onChoose={choose} label={`Memory of process ${process.pid} over time`} />
      <details class="as-table" onToggle={(event) => setOpen(event.currentTarget.open)}>
        <summary>As a table</summary>
        {isOpen && <Table rows={process.looks} columns={COLUMNS} label="Memory over time" sortedBy={-1} onChoose={(look) => choose(look.at_seconds)} />}
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
  }
  if (!hasMemory) {
    words.push("Bytes in blocks, slack and mapped memory are known where allocations are recorded: `profundo run --memory`.");
  } else if (!isKnown((look) => look.slack_bytes)) {
    words.push("Slack is not known: the process began as a copy of another one, or has blocks whose pages were never touched.");
  }
  return words.join(" ");
}

/** Growth in the second half, where its range leaves out zero. */
function growth({ growth }: ProcessMemory): string {
  if (growth === null || growth.bytes_per_second_low <= 0) {
    return "";
  }
  const { bytes_per_second, bytes_per_second_low, bytes_per_second_high, seconds } = growth;
  return `; it grew by ${bytes(bytes_per_second)} a second (${bytes(bytes_per_second_low)} – ${bytes(bytes_per_second_high)}) in the last ${duration(seconds)}`;
}

function short(command: string): string {
  const [program, ...words] = command.split(" ");
  return [base(program), ...words].join(" ").slice(0, 60);
}

function curvesOf(process: ProcessMemory): { times: number[]; curves: Curve[] } {
  const curves = CURVES.map(([title, , of], number): Curve => ({ title, values: process.looks.map(of), isFilled: number === 0, isSeldom: number === 1 }));
  return {
    times: process.looks.map((look) => look.at_seconds),
    curves: curves.filter(({ values }) => values.some((value) => value !== null && value > 0)),
  };
}

const COLUMNS: Column<Look>[] = [
  { title: "At", cell: (look) => duration(look.at_seconds), isNumber: true, width: "7em" },
  ...CURVES.map(
    ([title, about, of]): Column<Look> => ({
      title,
      about,
      cell: (look) => {
        const value = of(look);
        return value === null ? "" : <span data-number={value}>{bytes(value)}</span>;
      },
      isNumber: true,
    }),
  ),
  { title: "page faults", cell: (look) => look.minor_faults + look.major_faults > 0 && String(look.minor_faults), isNumber: true, about: "without reading from a disk, so far" },
];
