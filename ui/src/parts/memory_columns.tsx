// Columns of a source listing for memory and for counted lines: what each line allocated, had at the
// peak, kept and copied, whether it seems to leak, and how often it ran.
//
//   const memory = useMemoryOf(recording, file.file);   // undefined without memory
//   memoryColumns(memory)                               // the columns, for `useColumns`
//
// A statement that stands on several lines has the sum of them on its first one, as its time is; the
// lines by themselves are asked for when a statement is opened.

import { useMemo } from "preact/hooks";

import type { AboutRecording } from "../about";
import { useAnswer } from "../ask";
import { bytes } from "../numbers";
import { usePlace } from "../place";
import type { Allocations, Allocs, Copy, CountedLine, CountedLines, HeapLine, Leak } from "../reports";
import { shared } from "./asked";
import type { LineColumn } from "./columns";
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

/** Asks for the figures of a file's lines, where the recording has memory or counted lines: of
    statements as one, or of each line by itself. */
export function useMemoryOf(recording: AboutRecording, file: string, statements = true, isWanted = true): MemoryOf | undefined {
  const { filter, recording: number, mine, runtime } = shared(usePlace());
  const { memory, counted_lines } = recording.has;
  const question = { filter, recording: number, mine, runtime, what: "allocs", limit: LINES, statements };
  const allocs = useAnswer<Allocs>(memory && isWanted ? "report" : undefined, question);
  const counted = useAnswer<CountedLines>(counted_lines ? "report" : undefined, { filter, recording: number, what: "counted_lines", file });
  const allocations = isWanted ? (allocs.value?.allocations ?? undefined) : undefined;
  return useMemo(() => memoryOf(file, allocations, counted.value), [file, allocations, counted.value]);
}

/** Its columns. All of them would leave no room for the text: some are shown on demand. */
export function memoryColumns(memory: MemoryOf | undefined): LineColumn[] {
  if (memory === undefined) {
    return [];
  }
  const of = (line: number) => memory.lines.get(line) ?? {};
  const ofHeap = (name: "allocated_bytes" | "peak_bytes" | "live_bytes") => (line: number) => {
    const { heap } = of(line);
    return heap !== undefined && <Bytes row={heap} name={name} />;
  };
  const columns: [isThere: boolean, column: LineColumn][] = [
    [memory.hasHits, {
      name: "hits", title: "Hits", about: "How often the line ran, exactly", class: "number", table: "counted",
      cell: (line) => {
        const { counted } = of(line);
        return counted !== undefined && <Figure row={counted} is="hits" />;
      },
    }],
    [memory.hasTimes, {
      name: "time", title: "Time", about: "The time of the counted line", class: "number", table: "counted",
      cell: (line) => {
        const { counted } = of(line);
        return counted !== undefined && counted.seconds !== 0 && <Figure row={counted} is="seconds" />;
      },
    }],
    [memory.hasMemory, {
      name: "allocated", title: "Allocated", about: "Bytes that the line allocated, freed or not", class: "number", table: "heap",
      cell: ofHeap("allocated_bytes"),
    }],
    [memory.hasMemory, {
      name: "peak", title: "Peak", about: "Bytes of the line that were live when its process had most", class: "number", table: "heap",
      isMore: true, cell: ofHeap("peak_bytes"),
    }],
    [memory.hasMemory, {
      name: "live", title: "Live", about: "Bytes of the line that were not freed when the program began to end", class: "number extra", table: "heap",
      cell: ofHeap("live_bytes"),
    }],
    [memory.hasMemory, {
      name: "trend", title: "Over time", about: "The live bytes of the line over time", class: "extra",
      cell: (line) => {
        const { heap } = of(line);
        return heap !== undefined && <Sparkline points={heap.trend.live_bytes} />;
      },
    }],
    [memory.hasCopies, {
      name: "copied", title: "Copied", about: "Bytes that the line copied", class: "number", table: "copies",
      cell: (line) => {
        const { copy } = of(line);
        return copy !== undefined && <Bytes row={copy} name="bytes" />;
      },
    }],
    [memory.hasLeaks, {
      name: "leak", title: "Leak", about: "Lines that seem to leak", class: "leak", table: "leaks",
      cell: (line) => {
        const { leak } = of(line);
        return leak !== undefined && <Figure row={leak} is="probability" />;
      },
      titleOf: (line) => {
        const { leak } = of(line);
        return leak === undefined ? "" : `It seems to leak ${bytes(leak.bytes_per_second)} a second`;
      },
    }],
  ];
  return columns.filter(([isThere]) => isThere).map(([, column]) => column);
}
