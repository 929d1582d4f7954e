// What there is to look at: the answer to the first question.

/** The answer to `about`. */
export interface About {
  profundo: string;
  version: number;
  recordings: AboutRecording[];
  /** How many of the recordings are those before, where they are compared with the others. */
  before: number | null;
  snapshots: AboutSnapshot[];
  /** The links that open the reader's editor, where it is known. */
  editor?: EditorLinks | null;
}

/** Links with `{path}` and `{line}` in them. */
export interface EditorLinks {
  file: string;
  line: string;
}

/** A heap snapshot. */
export interface AboutSnapshot {
  name: string;
  path: string;
}

export interface AboutRecording {
  /** The name of the file; the services of a query. */
  name: string;
  path: string;
  /** The file's name, or a query, as a word for a shell. */
  word: string;
  /** Whether it is a store's answer to a query. */
  is_answer: boolean;
  command: string | null;
  /** When it was begun, and how long it is. */
  started_unix_seconds: number | null;
  duration_seconds: number | null;
  /** Whether it is being written. */
  is_growing: boolean;
  measures: "cpu" | "wall" | "traced" | "events" | "heap";
  has: Record<
    | "samples" | "times" | "waits" | "memory" | "copies" | "gauges" | "calls" | "counted_lines"
    | "exceptions" | "io" | "syscalls" | "spans" | "energy" | "cells" | "python" | "code" | "lines",
    boolean
  >;
  processes: { pid: number; command: string }[];
  threads: { number: number; name: string; pid: number | null }[];
  tasks: string[];
  spans: string[];
  /** Code of a notebook's cells: the files, and their names such as `In [3]`. */
  cells?: { file: string; name: string }[];
}

/** Whether there are two sides: recordings, or heap snapshots. */
export function isCompared({ before, snapshots }: About): boolean {
  return before !== null || snapshots.length === 2;
}

/** The names of what the page shows: those before, an arrow, and those after. */
export function namesOf({ recordings, before, snapshots }: About): string {
  const names = recordings.map(({ name }) => name);
  if (names.length === 0) {
    return snapshots.map(({ name }) => name).join(" → ");
  }
  return before === null ? names[0] : [names.slice(0, before), names.slice(before)].map((side) => side.join(", ")).join(" → ");
}
