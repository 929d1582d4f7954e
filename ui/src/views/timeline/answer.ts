// The answer to `timeline`.

import type { Columns } from "../../canvas/strip";

/** The time of a thread, a task, a process, or of all. */
export interface Row {
  busy: number;
  total: number;
  times: Record<string, number>;
  /** By activity and column, thousandths of the column's time. */
  columns: Record<string, number[]>;
  most: number;
  most_busy: number;
  garbage: number;
  collecting: number[];
}

export interface TrackRow {
  is: "thread" | "task";
  number: string;
  name: string;
  row: Row;
}

export interface ProcessRow {
  pid: number;
  command: string;
  row: Row;
  count: number;
  tracks: TrackRow[];
}

export interface MemoryRow {
  pid: number;
  command: string;
  resident: (number | null)[];
  in_use: (number | null)[];
  most: number;
  peak: number;
}

export interface Timeline {
  from: number;
  to: number;
  step: number;
  columns: number;
  span: [number, number];
  chosen: [number | null, number | null];
  activities: string[];
  all: Row;
  processes: ProcessRow[];
  tracks: number;
  shown: number;
  processes_count: number;
  memory: MemoryRow[];
  energy: { joules: number; window_joules: number; watts: number[]; most_watts: number } | null;
  spans: {
    lanes: number;
    left_out: number;
    name: string[];
    lane: number[];
    from: number[];
    to: number[];
    is_open: boolean[];
    count: number[];
  };
  marks: { name: string; time: number; count: number }[];
  unplaced: number;
}

/** The columns of an answer. */
export function columnsOf(answer: Timeline): Columns {
  return { from: answer.from, step: answer.step };
}

/** The column of a moment; -1 if it is in none. */
export function columnAt(answer: Timeline, time: number): number {
  const column = Math.floor((time - answer.from) / answer.step);
  return column >= 0 && column < answer.columns ? column : -1;
}
