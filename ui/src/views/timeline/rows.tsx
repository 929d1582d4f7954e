// The rows of the timeline: each has a name, a strip, and words for a column.

import { Fragment, type ComponentChildren } from "preact";

import { ACTIVITIES, BUSY, PAINTED } from "../../canvas/activities";
import { drawActivities, drawBars, drawCurve, drawEdge, xOf, type Brush } from "../../canvas/strip";
import { bytes, count, duration, percent } from "../../numbers";
import { Figure } from "../../parts/figure";
import { columnAt, columnsOf, type MemoryRow, type Row, type Timeline, type TrackRow } from "./answer";

export interface TimeRow {
  /** A name of its own, for hiding it. */
  id: string;
  title: string;
  note: string;
  /** A term of the filter that leaves only this. */
  term?: [name: string, value: string];
  isSmall?: boolean;
  height: number;
  draw: (brush: Brush) => void;
  /** The key of its numbers. */
  key?: string;
  /** What it has at a moment. */
  words: (time: number) => ComponentChildren;
}

type Tint = [light: string, dark: string];

/** The colours of lines and curves. */
export const LINES: Record<"garbage" | "memory" | "used" | "power" | "span", Tint> = {
  garbage: ["#0a7d4f", "#4fd69c"],
  memory: ["#5a4fcf", "#a49cff"],
  used: ["#c2410c", "#fb923c"],
  power: ["#a16207", "#facc15"],
  span: ["#cfe0f7", "#2b4a70"],
};
const shade = (pair: Tint, { isDark }: Brush) => pair[isDark ? 1 : 0];

/** The time of all, of a process, of a thread or of a task. */
function activityRow(answer: Timeline, id: string, title: string, note: string, row: Row, isSum: boolean, height: number): TimeRow {
  const most = isSum ? Math.max(1000, row.most) : 1000;
  return {
    id,
    title,
    note,
    height,
    draw: (brush) => {
      drawActivities(brush, columnsOf(answer), row.columns, PAINTED, most);
      drawEdge(brush, columnsOf(answer), row.collecting, shade(LINES.garbage, brush));
    },
    words: (time) => {
      const column = columnAt(answer, time);
      const names = Object.keys(ACTIVITIES).filter((name) => (row.columns[name]?.[column] ?? 0) > 0);
      const part = (is: string) => <Figure row={row} is={`${is}.${column}`} unit="thousandths" />;
      const parts = names.map((name) => <Fragment key={name}>{ACTIVITIES[name].title} {part(`columns.${name}`)}</Fragment>);
      if ((row.collecting[column] ?? 0) > 0) {
        parts.push(<Fragment key="garbage">of it garbage collection {part("collecting")}</Fragment>);
      }
      return parts.length === 0 ? "nothing ran" : parts.map((part, at) => [at > 0 && " · ", part]);
    },
  };
}

function memoryRow(answer: Timeline, memory: MemoryRow, isOne: boolean): TimeRow {
  return {
    id: `m${memory.pid}`,
    key: `memory ${memory.pid}`,
    title: "Memory",
    note: `${isOne ? "" : `${memory.pid} ${memory.command}, `}up to ${bytes(memory.most)}`,
    isSmall: true,
    height: 34,
    draw: (brush) => {
      drawCurve(brush, columnsOf(answer), memory.resident, memory.most, shade(LINES.memory, brush), true);
      drawCurve(brush, columnsOf(answer), memory.in_use, memory.most, shade(LINES.used, brush), false);
    },
    words: (time) => {
      const column = columnAt(answer, time);
      const [resident, used] = [memory.resident[column] ?? null, memory.in_use[column] ?? null];
      if (resident === null && used === null) {
        return "not read here";
      }
      return (
        <>
          {resident !== null && <>resident <Figure row={memory} is={`resident.${column}`} unit="bytes" /></>}
          {resident !== null && used !== null && " · "}
          {used !== null && <>in use <Figure row={memory} is={`in_use.${column}`} unit="bytes" /></>}
        </>
      );
    },
  };
}

const LANE = 18;

function spansRow(answer: Timeline): TimeRow {
  const { spans } = answer;
  return {
    id: "spans",
    title: "Spans",
    note: spans.left_out > 0 ? `${count(spans.left_out)} more overlap these` : "",
    height: Math.max(1, spans.lanes) * LANE + 2,
    draw: (brush) => {
      const { context, window, width } = brush;
      context.font = "11px system-ui, sans-serif";
      context.textBaseline = "middle";
      spans.name.forEach((name, at) => {
        const left = Math.max(-1, xOf(spans.from[at], window, width));
        const right = Math.min(width + 1, Math.max(left + 1, xOf(spans.to[at], window, width)));
        if (right < 0 || left > width) {
          return;
        }
        const y = spans.lane[at] * LANE + 1;
        context.fillStyle = shade(LINES.span, brush);
        context.fillRect(left, y, Math.max(1, right - left - 1), LANE - 2);
        if (right - left > 24) {
          const words = spans.count[at] > 1 ? `${count(spans.count[at])} spans` : name;
          context.save();
          context.beginPath();
          context.rect(left, y, right - left - 4, LANE);
          context.clip();
          context.fillStyle = brush.ink;
          context.fillText(words, left + 4, y + LANE / 2 - 1);
          context.restore();
        }
      });
    },
    words: (time) => {
      const found = spans.name
        .map((name, at) => ({ name, at }))
        .filter(({ at }) => spans.from[at] <= time && time < spans.to[at])
        .map(({ name, at }) =>
          spans.count[at] > 1
            ? `${count(spans.count[at])} spans, the first ${name}`
            : `${name}, ${duration((spans.to[at] - spans.from[at]) / 1e9)}${spans.is_open[at] ? ", open at the end" : ""}`,
        );
      // The length of a single span is in no report.
      return found.length === 0 ? "outside of spans" : <bdi>{found.join(" › ")}</bdi>;
    },
  };
}

function marksRow(answer: Timeline): TimeRow {
  const near = (time: number) =>
    answer.marks.filter((mark) => Math.abs(mark.time - time) <= 4 * answer.step);
  return {
    id: "marks",
    title: "Marks",
    note: "",
    height: 18,
    draw: ({ context, window, width, height, ink }) => {
      context.fillStyle = ink;
      context.font = "11px system-ui, sans-serif";
      context.textBaseline = "middle";
      let free = -1;
      for (const mark of answer.marks) {
        const x = Math.round(xOf(mark.time, window, width));
        context.fillRect(x, 0, 1, height);
        const words = mark.count > 1 ? `${count(mark.count)} marks` : mark.name;
        if (x > free) {
          context.fillText(words, x + 4, height / 2);
          free = x + 10 + context.measureText(words).width;
        }
      }
    },
    words: (time) => near(time).map(({ name, count }) => (count > 1 ? `${count} marks, the first ${name}` : name)).join(", ") || "no mark here",
  };
}

/** The time in garbage collection, of all tracks. */
function garbageRow(answer: Timeline): TimeRow {
  const { collecting, garbage } = answer.all;
  const most = Math.max(...collecting, 1);
  return {
    id: "garbage",
    title: "Garbage collection",
    note: duration(garbage / 1e9),
    isSmall: true,
    height: 24,
    draw: (brush) => drawBars(brush, columnsOf(answer), collecting, most, shade(LINES.garbage, brush)),
    words: (time) => {
      const part = collecting[columnAt(answer, time)] ?? 0;
      return part === 0 ? "none here" : `${percent(part / 1000)} of a thread's time`;
    },
  };
}

function powerRow(answer: Timeline, energy: NonNullable<Timeline["energy"]>): TimeRow {
  return {
    id: "power",
    title: "Power",
    note: `estimate, up to ${energy.most_watts.toPrecision(3)} W`,
    isSmall: true,
    height: 30,
    draw: (brush) => drawCurve(brush, columnsOf(answer), energy.watts, energy.most_watts, shade(LINES.power, brush), true),
    words: (time) => `about ${(energy.watts[columnAt(answer, time)] ?? 0).toPrecision(3)} W: the machine's energy, divided as the CPU time is`,
  };
}

/** The sum of all threads on a CPU, for a small picture. */
export function cpuRow(answer: Timeline): TimeRow {
  const row = answer.all;
  const columns = Object.fromEntries(BUSY.map((name) => [name, row.columns[name] ?? []]));
  const busy = { ...row, columns };
  return {
    ...activityRow(answer, "all", "CPU", `up to ${percent(row.most_busy / 1000)}`, busy, true, 46),
    draw: (brush) => {
      drawActivities(brush, columnsOf(answer), columns, BUSY, Math.max(1, row.most_busy));
      drawEdge(brush, columnsOf(answer), row.collecting, shade(LINES.garbage, brush));
    },
  };
}

/** The curve of the process with most memory. */
export function largestMemory(answer: Timeline): TimeRow[] {
  return answer.memory.slice(0, 1).map((memory) => memoryRow(answer, memory, answer.memory.length === 1));
}

/** A thread by its number. Tasks have names: their numbers are too long to be read. */
function numbered({ is, name, number }: TrackRow): string {
  return is === "task" && name !== "" ? is : `${is} ${number}`;
}

/** All rows of an answer, in their order. */
export function rowsOf(answer: Timeline): TimeRow[] {
  const rows: TimeRow[] = [];
  if (answer.marks.length > 0) {
    rows.push(marksRow(answer));
  }
  if (answer.spans.lanes > 0) {
    rows.push(spansRow(answer));
  }
  const used = new Set<number>();
  for (const process of answer.processes) {
    const { pid, command, count: all, tracks, row } = process;
    const isAlone = all === 1 && tracks.length === 1;
    const memory = answer.memory.find((memory) => memory.pid === pid);
    if (!isAlone) {
      const what = tracks[0]?.is ?? "thread";
      const more = tracks.length > 0 && all > tracks.length ? `, ${count(tracks.length)} shown` : "";
      rows.push({
        ...activityRow(answer, `p${pid}`, command || "process", `${pid}, ${count(all)} ${what}${all === 1 ? "" : "s"}${more}`, row, true, all === 1 ? 24 : 34),
        key: `process ${pid}`,
        term: ["process", String(pid)],
      });
    }
    for (const track of tracks) {
      const name = track.name || (isAlone ? command : track.is);
      rows.push({
        ...activityRow(answer, `${track.is}${track.number}`, name, `${isAlone ? `${pid}, ` : ""}${numbered(track)}`, track.row, false, 24),
        key: `${track.is} ${track.number}`,
        term: [track.is, track.number],
        isSmall: !isAlone,
      });
    }
    if (memory !== undefined && !used.has(pid)) {
      used.add(pid);
      rows.push(memoryRow(answer, memory, true));
    }
  }
  for (const memory of answer.memory.filter(({ pid }) => !used.has(pid))) {
    rows.push(memoryRow(answer, memory, false));
  }
  if (answer.all.garbage > 0) {
    rows.push(garbageRow(answer));
  }
  if (answer.energy !== null) {
    rows.push(powerRow(answer, answer.energy));
  }
  return rows;
}
