// Columns of a listing for bytes that a line read and wrote, and for its time in that, where waiting
// was recorded. A statement that stands on several lines has the sum of them.

import { useMemo } from "preact/hooks";

import type { AboutRecording } from "../../about";
import { isAnswered, useAnswer } from "../../ask";
import { shared } from "../../parts/asked";
import type { LineColumn } from "../../parts/columns";
import { Figure } from "../../parts/figure";
import { usePlace } from "../../place";
import type { Io, IoLine } from "../../reports";

/** By line, what it read and wrote. */
export type TrafficOf = Map<number, IoLine>;

/** Asks for the bytes of a file's statements, or of each line by itself. Files without any have no columns. */
export function useTrafficOf(recording: AboutRecording, file: string, statements = true, isWanted = true): TrafficOf | undefined {
  const { filter, recording: number, mine, runtime } = shared(usePlace());
  const question = { filter, recording: number, mine, runtime, what: "io", statements };
  const answer = useAnswer<Io>(recording.has.io && isWanted && isAnswered("report", question) ? "report" : undefined, question);
  const rows = isWanted ? answer.value?.lines : undefined;
  return useMemo(() => {
    const lines: TrafficOf = new Map();
    for (const row of rows ?? []) {
      const line = row.at?.file === file ? row.at.line : null;
      if (line !== null && !lines.has(line)) {
        lines.set(line, row);
      }
    }
    return lines.size === 0 ? undefined : lines;
  }, [rows, file]);
}

/** Its columns. */
export function trafficColumns(traffic: TrafficOf | undefined): LineColumn[] {
  if (traffic === undefined) {
    return [];
  }
  const of = (is: "read_bytes" | "written_bytes") => (line: number) => {
    const row = traffic.get(line);
    return row !== undefined && row[is] > 0 && <Figure row={row} is={is} />;
  };
  return [
    { name: "read", title: "Read", about: "Bytes that the line read", class: "number extra", table: "io", cell: of("read_bytes") },
    { name: "written", title: "Written", about: "Bytes that the line wrote", class: "number extra", table: "io", cell: of("written_bytes") },
  ];
}
