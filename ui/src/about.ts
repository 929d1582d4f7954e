// What there is to look at: the answer to the first question.

/** The answer to `about`. */
export interface About {
  profundo: string;
  version: number;
  recordings: AboutRecording[];
  /** How many of the recordings are those before, where they are compared with the others. */
  before: number | null;
  snapshots: AboutSnapshot[];
}

/** A heap snapshot. */
export interface AboutSnapshot {
  name: string;
  path: string;
}

export interface AboutRecording {
  name: string;
  path: string;
  command: string | null;
  /** When it was begun, and how long it is. */
  started_unix_seconds: number | null;
  duration_seconds: number | null;
  /** Whether it is being written. */
  is_growing: boolean;
  measures: "cpu" | "wall" | "traced" | "heap";
  has: Record<
    | "samples" | "times" | "waits" | "memory" | "copies" | "gauges" | "calls" | "counted_lines"
    | "exceptions" | "io" | "syscalls" | "spans" | "energy" | "python",
    boolean
  >;
  processes: { pid: number; command: string }[];
  threads: { number: number; name: string; pid: number | null }[];
  tasks: string[];
  spans: string[];
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
