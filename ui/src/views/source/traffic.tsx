// Columns of a listing for bytes that a line read and wrote, and for its time in that, where waiting
// was recorded.

import { useMemo } from "preact/hooks";

import type { AboutRecording } from "../../about";
import { isAnswered, useAnswer } from "../../ask";
import { shared } from "../../parts/asked";
import { Figure } from "../../parts/figure";
import { usePlace } from "../../place";
import type { Io, IoLine } from "../../reports";

/** By line, what it read and wrote. */
export type TrafficOf = Map<number, IoLine>;

/** Asks for the bytes of a file's lines. Files without any have no columns. */
export function useTrafficOf(recording: AboutRecording, file: string): TrafficOf | undefined {
  const { filter, recording: number, mine, runtime } = shared(usePlace());
  const question = { filter, recording: number, mine, runtime, what: "io" };
  const answer = useAnswer<Io>(recording.has.io && isAnswered("report", question) ? "report" : undefined, question);
  return useMemo(() => {
    const lines: TrafficOf = new Map();
    for (const row of answer.value?.lines ?? []) {
      const line = row.at?.file === file ? row.at.line : null;
      if (line !== null && !lines.has(line)) {
        lines.set(line, row);
      }
    }
    return lines.size === 0 ? undefined : lines;
  }, [answer.value, file]);
}

export function TrafficHeads({ traffic }: { traffic: TrafficOf | undefined }) {
  return traffic === undefined ? null : (
    <>
      <th class="number extra" title="Bytes that the line read">Read</th>
      <th class="number extra" title="Bytes that the line wrote">Written</th>
    </>
  );
}

export function TrafficCells({ traffic, line }: { traffic: TrafficOf | undefined; line: number }) {
  if (traffic === undefined) {
    return null;
  }
  const row = traffic.get(line);
  return (
    <>
      <td class="number extra" data-table="io">{row !== undefined && row.read_bytes > 0 && <Figure row={row} is="read_bytes" />}</td>
      <td class="number extra" data-table="io">{row !== undefined && row.written_bytes > 0 && <Figure row={row} is="written_bytes" />}</td>
    </>
  );
}
