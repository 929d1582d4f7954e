// What threads do, in words, colours and patterns. Waits have patterns, so that they can be told apart
// without any colour.

import { KINDS } from "./colours";

type Tint = [light: string, dark: string];
type Pattern = "plain" | "rising" | "falling" | "dots" | "level" | "upright" | "cross";

interface Activity {
  title: string;
  about: string;
  tint: Tint;
  pattern: Pattern;
}

/** By the name in answers, in the order of legends. */
export const ACTIVITIES: Record<string, Activity> = {
  python: { title: "Python", about: "runs Python code", tint: KINDS.python, pattern: "plain" },
  native: { title: "native", about: "runs native code", tint: KINDS.native, pattern: "plain" },
  system: { title: "system", about: "runs in a system call", tint: KINDS.system, pattern: "plain" },
  unreadable: { title: "not readable", about: "runs; the interpreter's frames could not be read", tint: KINDS.missing, pattern: "plain" },
  gil: { title: "waits for the GIL", about: "waits for the interpreter's lock", tint: ["#c93c4c", "#d2475a"], pattern: "rising" },
  lock: { title: "lock", about: "waits for a lock or a condition", tint: ["#5b3a12", "#dcc09a"], pattern: "falling" },
  io: { title: "I/O", about: "waits for files, sockets, pipes or events", tint: ["#1f8f80", "#3fb0a0"], pattern: "dots" },
  sleep: { title: "sleep", about: "waits for time to pass", tint: ["#8a97a6", "#76828f"], pattern: "level" },
  cpu: { title: "waits for a CPU", about: "could run, and waits for a free CPU", tint: ["#b09200", "#d8bf3c"], pattern: "cross" },
  waiting: { title: "other waits", about: "waits for a child, a thread, a signal, or something unknown", tint: ["#8fa6bb", "#93a5b8"], pattern: "upright" },
  idle: { title: "idle", about: "only waits for work, as threads of a pool do", tint: ["#e3e9ef", "#2c343d"], pattern: "plain" },
  none: { title: "no sample", about: "did not run, was not sampled, or was not there", tint: ["#ffffff", "#16191d"], pattern: "plain" },
};

/** The activities that have a colour; `none` is the ground. */
export const PAINTED = Object.keys(ACTIVITIES).filter((name) => name !== "none");

/** The activities on a CPU. */
export const BUSY = ["python", "native", "system", "unreadable"];

/** The colour of an activity. */
export function colourOf(name: string, isDark: boolean): string {
  return ACTIVITIES[name]?.tint[isDark ? 1 : 0] ?? "#888";
}

const SIZE = 8;
const kept = new Map<string, CanvasPattern | string>();

/** The fill of an activity: a colour, or a pattern of it on a faint ground of the same colour. */
export function fillOf(context: CanvasRenderingContext2D, name: string, isDark: boolean): CanvasPattern | string {
  const key = `${name} ${isDark}`;
  const known = kept.get(key);
  if (known !== undefined) {
    return known;
  }
  const activity = ACTIVITIES[name];
  const colour = colourOf(name, isDark);
  const fill = activity === undefined || activity.pattern === "plain" ? colour : (patternOf(context, activity.pattern, colour) ?? colour);
  kept.set(key, fill);
  return fill;
}

function patternOf(context: CanvasRenderingContext2D, pattern: Pattern, colour: string): CanvasPattern | null {
  const tile = document.createElement("canvas");
  tile.width = SIZE;
  tile.height = SIZE;
  const brush = tile.getContext("2d");
  if (brush === null) {
    return null;
  }
  brush.fillStyle = colour;
  brush.globalAlpha = 0.28;
  brush.fillRect(0, 0, SIZE, SIZE);
  brush.globalAlpha = 1;
  brush.strokeStyle = colour;
  brush.lineWidth = 2;
  brush.beginPath();
  const line = (x: number, y: number, toX: number, toY: number) => {
    brush.moveTo(x, y);
    brush.lineTo(toX, toY);
  };
  if (pattern === "rising" || pattern === "cross") {
    line(-2, SIZE + 2, SIZE + 2, -2);
    line(-2, 2, 2, -2);
    line(SIZE - 2, SIZE + 2, SIZE + 2, SIZE - 2);
  }
  if (pattern === "falling" || pattern === "cross") {
    line(-2, -2, SIZE + 2, SIZE + 2);
    line(SIZE - 2, -2, SIZE + 2, 2);
    line(-2, SIZE - 2, 2, SIZE + 2);
  }
  if (pattern === "level") {
    line(0, 2, SIZE, 2);
    line(0, 6, SIZE, 6);
  }
  if (pattern === "upright") {
    line(2, 0, 2, SIZE);
    line(6, 0, 6, SIZE);
  }
  brush.stroke();
  if (pattern === "dots") {
    for (const [x, y] of [[1, 1], [5, 5]]) {
      brush.fillRect(x, y, 3, 3);
    }
  }
  return context.createPattern(tile, "repeat");
}
