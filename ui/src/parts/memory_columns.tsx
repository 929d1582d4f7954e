// Columns of a source listing for memory and for counted lines: what each line allocated, had at the
// peak, kept and copied, whether it seems to leak, and how often it ran.
//
//   const memory = useMemoryOf(recording, file.file);   // in the listing; undefined without memory
//   <MemoryHeads memory={memory} />                     // in the row of titles
//   <MemoryCells memory={memory} line={number} />       // in each row

import { useMemo } from "preact/hooks";

import type { AboutRecording } from "../about";
import { useAnswer } from "../ask";
import { bytes } from "../numbers";
import { usePlace } from "../place";
import type { Allocations, Allocs, Copy, CountedLine, CountedLines, HeapLine, Leak } from "../reports";
import { shared } from "./asked";
import { Figure } from "./figure";
import { Bytes } from "./range";
import { Sparkline } from "./sparkline";

/** Lines of an answer: as many as the view of memory asks for, so that there is one answer for both. */
const LINES = 2000;

interface OfLine {
  heap?: HeapLine;
  copy?: Copy;
  leak?: Leak;
  counted?: CountedLine;
}

/** The figures of a file's lines, and which columns they fill. */
export interface MemoryOf {
  lines: Map<number, OfLine>;
  hasMemory: boolean;
  hasCopies: boolean;
  hasLeaks: boolean;
  hasHits: boolean;
  hasTimes: boolean;
}

/** The figures of each line of a file, from the reports `allocs` and `counted_lines`. */
export function memoryOf(file: string, allocations: Allocations | undefined, counted: CountedLines | undefined): MemoryOf | undefined {
  const lines = new Map<number, OfLine>();
  const add = (line: number | null | undefined, part: OfLine) => {
    if (line !== null && line !== undefined && line > 0) {
      lines.set(line, { ...lines.get(line), ...part });
    }
  };
  for (const heap of allocations?.lines ?? []) {
    if (heap.at?.file === file) {
      add(heap.at.line, { heap });
    }
  }
  for (const copy of allocations?.copies ?? []) {
    if (copy.at?.file === file) {
      add(copy.at.line, { copy });
    }
  }
  for (const leak of allocations?.leaks ?? []) {
    if (leak.at?.file === file) {
      add(leak.at.line, { leak });
    }
  }
  for (const line of (counted?.functions ?? []).filter((of) => of.file === file).flatMap((of) => of.lines)) {
    // A line may be in two functions, as that of a generator expression: the outer one comes first.
    if (lines.get(line.line)?.counted === undefined) {
      add(line.line, { counted: line });
    }
  }
  if (allocations === undefined && counted === undefined) {
    return undefined;
  }
  const rows = [...lines.values()];
  return {
    lines,
    hasMemory: allocations !== undefined,
    hasCopies: rows.some(({ copy }) => copy !== undefined),
    hasLeaks: rows.some(({ leak }) => leak !== undefined),
    hasHits: counted !== undefined,
    hasTimes: rows.some(({ counted }) => counted !== undefined && counted.seconds !== null),
  };
}

/** Asks for the figures of a file's lines, where the recording has memory or counted lines. */
export function useMemoryOf(recording: AboutRecording, file: string): MemoryOf | undefined {
  const { filter, recording: number, mine, runtime } = shared(usePlace());
  const { memory, counted_lines } = recording.has;
  const allocs = useAnswer<Allocs>(memory ? "report" : undefined, { filter, recording: number, mine, runtime, what: "allocs", limit: LINES });
  const counted = useAnswer<CountedLines>(counted_lines ? "report" : undefined, { filter, recording: number, what: "counted_lines", file });
  const allocations = allocs.value?.allocations ?? undefined;
  return useMemo(() => memoryOf(file, allocations, counted.value), [file, allocations, counted.value]);
}

export function MemoryHeads({ memory }: { memory: MemoryOf | undefined }) {
  if (memory === undefined) {
    return null;
  }
  return (
    <>
      {memory.hasHits && <th class="number" title="How often the line ran, exactly">Hits</th>}
      {memory.hasTimes && <th class="number" title="The time of the counted line">Time</th>}
      {memory.hasMemory && (
        <>
          <th class="number" title="Bytes that the line allocated, freed or not">Allocated</th>
          <th class="number" title="Bytes of the line that were live when its process had most">Peak</th>
          <th class="number" title="Bytes of the line that were not freed when the program began to end">Live</th>
          <th title="The live bytes of the line over time">Over time</th>
        </>
      )}
      {memory.hasCopies && <th class="number" title="Bytes that the line copied">Copied</th>}
      {memory.hasLeaks && <th title="Lines that seem to leak">Leak</th>}
    </>
  );
}

export function MemoryCells({ memory, line }: { memory: MemoryOf | undefined; line: number }) {
  if (memory === undefined) {
    return null;
  }
  const { heap, copy, leak, counted } = memory.lines.get(line) ?? {};
  return (
    <>
      {memory.hasHits && <td class="number" data-table="counted">{counted !== undefined && <Figure row={counted} is="hits" />}</td>}
      {memory.hasTimes && <td class="number" data-table="counted">{counted !== undefined && counted.seconds !== 0 && <Figure row={counted} is="seconds" />}</td>}
      {memory.hasMemory && (
        <>
          <td class="number" data-table="heap">{heap !== undefined && <Bytes row={heap} name="allocated_bytes" />}</td>
          <td class="number" data-table="heap">{heap !== undefined && <Bytes row={heap} name="peak_bytes" />}</td>
          <td class="number" data-table="heap">{heap !== undefined && <Bytes row={heap} name="live_bytes" />}</td>
          <td>{heap !== undefined && <Sparkline points={heap.trend.live_bytes} />}</td>
        </>
      )}
      {memory.hasCopies && <td class="number" data-table="copies">{copy !== undefined && <Bytes row={copy} name="bytes" />}</td>}
      {memory.hasLeaks && (
        <td class="leak" data-table="leaks" title={leak === undefined ? "" : `It seems to leak ${bytes(leak.bytes_per_second)} a second`}>
          {leak !== undefined && <Figure row={leak} is="probability" />}
        </td>
      )}
    </>
  );
}
