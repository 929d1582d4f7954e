// What there is to look at: the answer to the first question.

/** The answer to `about`. */
export interface About {
  profundo: string;
  version: number;
  recordings: AboutRecording[];
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
