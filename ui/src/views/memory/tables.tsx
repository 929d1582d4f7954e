// The tables of allocations: by line, function, stack, type, thread and process; leaks, copies, and blocks
// that no pointer led to.

import type { AboutRecording } from "../../about";
import { tell } from "../../parts/details";
import { Ends, Figure, placeKey } from "../../parts/figure";
import { forWidth, useNarrow } from "../../parts/narrow";
import { Bytes } from "../../parts/range";
import { Sparkline } from "../../parts/sparkline";
import { Table, type Column } from "../../parts/table";
import { Tabs, useTab, type Tab } from "../../parts/tabs";
import { placeWords, Where, type At } from "../../parts/where";
import { change } from "../../place";
import type { Allocations, Copy, HeapLine, HeapProcess, HeapThread, HeapType, Leak, Lost } from "../../reports";
import { AmountWords, amounts, type Amounts } from "./amounts";
import { HeldThen } from "./held";
import { Stacks } from "./stacks";
import { ROWS } from ".";

const at = <T extends { at: At | null }>(isFunction = false): Column<T> => ({
  title: isFunction ? "Function" : "Line",
  order: (row) => placeWords(row.at),
  cell: (row) => <Where at={row.at} isFunction={isFunction} />,
});

const perSecond = <T extends { bytes_per_second: number }>(title: string): Column<T> => ({
  title,
  order: (row) => row.bytes_per_second,
  cell: (row) => <Figure row={row} is="bytes_per_second" />,
  isNumber: true,
  width: "7em",
});

const sized = <T extends { bytes: number }>(title: string): Column<T>[] => [
  { title, order: (row) => row.bytes, cell: (row) => <Bytes row={row} name="bytes" />, isNumber: true, width: "7em" },
  { title: "Range", cell: (row) => <span class="soft"><Ends row={row} is="bytes" /></span>, width: "11em" },
];

const TREND: Column<HeapLine> = { title: "Trend", about: "Live bytes over time", cell: (row) => <Sparkline points={row.trend.live_bytes} />, width: "8.6em" };

const LEAKS: Column<Leak>[] = [
  { title: "Probability", about: "How likely it leaks: blocks of it are allocated again and again, and hardly any is freed", order: (row) => row.probability, cell: (row) => <b class="warning"><Figure row={row} is="probability" /></b>, isNumber: true, width: "7em" },
  ...sized<Leak>("Not freed"),
  { title: "Blocks", order: (row) => row.blocks, cell: (row) => <Figure row={row} is="blocks" />, isNumber: true, width: "6.5em" },
  perSecond<Leak>("Grows"),
  { title: "Usual lifetime", about: "Of the blocks that were freed", cell: (row) => (row.usual_lifetime_seconds === null ? "none freed" : <Figure row={row} is="usual_lifetime_seconds" />), isNumber: true, width: "9.5em" },
  at<Leak>(),
];

export function Tables({ allocations, recording }: { allocations: Allocations; recording: AboutRecording }) {
  const { lines, functions, types, threads, processes, leaks, copies, unreachable } = allocations;
  const tabs: Tab[] = [
    { name: "lines", title: "Lines", rows: lines.length },
    { name: "functions", title: "Functions", rows: functions.length },
    { name: "stacks", title: "Stacks", about: "Where each allocation was called from" },
    { name: "types", title: "Types", rows: types.length, about: "What the blocks hold, as far as the functions tell that allocate them" },
    { name: "held", title: "At a moment", about: "Who held memory at the moment that is chosen on the curves" },
    { name: "leaks", title: "Leaks", rows: leaks.length },
    { name: "copies", title: "Copies", rows: recording.has.copies ? copies.length : undefined, about: "Bytes that were copied from one place to another" },
    { name: "unreachable", title: "Unreachable", rows: unreachable.lines.length, about: "Blocks that no pointer led to when their process ended" },
    { name: "threads", title: "Threads", rows: threads.length },
    { name: "processes", title: "Processes", rows: processes.length },
  ];
  const tab = useTab(tabs);
  return (
    <>
      <Tabs tabs={tabs} chosen={tab} label="Tables of memory" />
      <Chosen tab={tab} allocations={allocations} recording={recording} />
    </>
  );
}

function Chosen({ tab, allocations, recording }: { tab: string; allocations: Allocations; recording: AboutRecording }) {
  const { lines, functions, types, threads, processes, leaks, copies, unreachable, sampling } = allocations;
  const isExact = sampling === "all";
  switch (tab) {
    case "functions":
      return <Shown rows={functions} columns={[...amounts<(typeof functions)[0]>(isExact), at(true)]} label="Functions that allocate" name="memory_functions" keyOf={placeKey} words={(row) => placeWords(row.at)} />;
    case "types":
      return types.length === 0 ? (
        <None>
          No type is known: blocks have one where the functions between them and the allocator tell it, as Python's, Rust's and C++'s do with debug information.
        </None>
      ) : (
        <Shown
          rows={types}
          columns={[...amounts<HeapType>(isExact), { title: "Type", order: typeWords, cell: typeWords }]}
          label="What the blocks hold"
          name="types"
          keyOf={typeWords}
          words={typeWords}
          onChoose={(row) => row.type !== null && change({ type: row.type, table: "lines" })}
          hint="Click a type to see the lines that allocate it."
        />
      );
    case "threads":
      return <Shown rows={threads} columns={[...amounts<HeapThread>(isExact), { title: "Thread", cell: threadWords }]} label="Threads" name="memory_threads" keyOf={(row) => String(row.thread)} words={threadWords} />;
    case "processes":
      return <Shown rows={processes} columns={[...amounts<HeapProcess>(isExact), { title: "Process", cell: (row) => String(row.pid ?? "") }]} label="Processes" name="memory_processes" keyOf={(row) => String(row.pid ?? "")} words={(row) => `process ${row.pid ?? ""}`} />;
    case "stacks":
      return <Stacks />;
    case "held":
      return <HeldThen />;
    case "leaks":
      return leaks.length === 0 ? <None>No leak was found: no line allocates again and again what is hardly ever freed.</None> : <Table<Leak> key="leaks" rows={leaks} columns={LEAKS} label="Lines that seem to leak" name="leaks" keyOf={placeKey} onPoint={(row) => tell(<span data-table="leaks" data-row={placeKey(row)}><b>{placeWords(row.at)}</b> leaks with a probability of <Figure row={row} is="probability" />: <Figure row={row} is="bytes" /> not freed, <Figure row={row} is="bytes_per_second" /></span>)} />;
    case "copies":
      return !recording.has.copies ? (
        <None>
          Copies were not recorded: <code>profundo run --memory</code> records those of <bdi>4 KiB</bdi> and more.
        </None>
      ) : copies.length === 0 ? <None>No copy was long enough to be recorded: those of <bdi>4 KiB</bdi> and more are.</None> : <Table<Copy> key="copies" rows={copies} columns={[...sized<Copy>("Copied"), { title: "Copies", order: (row) => row.copies, cell: (row) => <Figure row={row} is="copies" />, isNumber: true, width: "6.5em" }, perSecond<Copy>("A second"), at<Copy>()]} label="Lines that copy" name="copies" keyOf={placeKey} onPoint={(row) => tell(<span data-table="copies" data-row={placeKey(row)}><b>{placeWords(row.at)}</b> copied <Figure row={row} is="bytes" /> in <Figure row={row} is="copies" /> copies</span>)} />;
    case "unreachable":
      return unreachable.searched_processes === 0 ? (
        <None>
          No process was searched: the recorder looks for such blocks when a native program ends by itself.
        </None>
      ) : unreachable.lines.length === 0 ? (
        <None>Every block that was live at the end could still be reached.</None>
      ) : (
        <Table<Lost> key="lost" rows={unreachable.lines} columns={[...sized<Lost>("Lost"), { title: "Blocks", cell: (row) => <Figure row={row} is="blocks" />, isNumber: true, width: "6.5em" }, at<Lost>()]} label="Lines whose blocks no pointer led to" name="unreachable" keyOf={placeKey} />
      );
    default:
      return <Shown rows={lines} columns={[...amounts<HeapLine>(isExact), TREND, at<HeapLine>()]} label="Lines that allocate" name="memory_lines" keyOf={placeKey} words={(row) => placeWords(row.at)} />;
  }
}

function Shown<T extends Amounts>({ rows, columns, label, name, keyOf, words, onChoose, hint }: { rows: T[]; columns: Column<T>[]; label: string; name: string; keyOf: (row: T) => string; words: (row: T) => string; onChoose?: (row: T) => void; hint?: string }) {
  const isNarrow = useNarrow();
  return (
    <>
      <Table key={`${label}${isNarrow}`} rows={rows} {...forWidth(isNarrow, columns)} label={label} name={name} keyOf={keyOf} onPoint={(row) => tell(<span data-table={name} data-row={keyOf(row)}><AmountWords row={row} words={words(row)} /></span>)} onChoose={onChoose} />
      {rows.length === ROWS && <p class="soft memory-note" data-table={name} data-row="all">These are the <Figure row={rows} is="length" /> rows that allocated most. A filter shows others.</p>}
      {hint !== undefined && <p class="soft memory-note">{hint}</p>}
    </>
  );
}

function None({ children }: { children: preact.ComponentChildren }) {
  return <p class="soft memory-note">{children}</p>;
}

function typeWords(row: HeapType): string {
  return `${row.type ?? "[unknown]"}${row.is_growing_buffer ? ", a buffer that grew" : ""}`;
}

function threadWords(row: HeapThread): string {
  return `${row.thread} ${row.name ?? ""}`;
}
