// The views, and what the numbers of each are compared with. A new view is a row here: its place,
// the recordings that have it, and the rows of the command's reports by `data-table`.

import { difference } from "./tables/difference.mjs";
import { calls, countedLines, exceptions } from "./tables/exact.mjs";
import { heap } from "./tables/heap.mjs";
import { memory } from "./tables/memory.mjs";
import { functions, graph, heatmap, instructions, lines, overview, timeline } from "./tables/sampled.mjs";

const isSampled = ({ has }) => has.samples || has.memory;
const hasLines = ({ has }) => has.lines && (has.samples || has.memory);
const hasMemory = ({ has }) => has.memory;
const isPair = (_, { recordings }) => recordings.length === 2;
const isHeap = (_, { snapshots }) => snapshots.length > 0;
const areHeaps = (_, { snapshots }) => snapshots.length > 1;

/** The tabs of the memory view. */
const MEMORY = ["functions", "types", "threads", "processes", "leaks", "copies", "unreachable", "stacks", "held&at=0.1", "held&at=0.1&by=function"];

/** Rows of memory that the bar tells of: those of looks over time say all themselves. */
const AMOUNTS = "[data-table^=memory_] tbody tr[data-row], [data-table^=held_] tbody tr[data-row], table:is([data-table^=memory_], [data-table^=held_]) tbody tr[data-row]";

/**
 * Each view: `name` and `place` are its own, `isThere` says which recordings have it (as in
 * `ui/src/views/index.ts`), `least` is the fewest numbers that it shows of such a recording, and
 * `tables` is what the command says. A view whose numbers are on a canvas has `picture`; one whose rows
 * are the boxes of the picture before it has `rows`. `isSplit`: its parts stand beside each other.
 * `only` names the recordings that it is tested with. `points`: what the pointer goes over, so that
 * the bar at the bottom has numbers too. `opens`: what is pressed first. `isTab`: another place of a
 * view that has a row already, which is looked at for its numbers only.
 */
export const VIEWS = [
  { name: "overview", isThere: (_, { recordings }) => recordings.length > 0, least: 2, tables: overview, points: ".pair:not([hidden]) .hot li[data-row]" },
  { name: "functions", isThere: isSampled, least: 4, tables: functions, points: "tbody tr[data-row]" },
  { name: "source", isThere: hasLines, least: 2, tables: lines, points: "tbody tr:has([data-is$=share])" },
  { name: "flame", isThere: isSampled, least: 0, picture: true },
  { name: "flame", place: "shape=left", isThere: isSampled, least: 0, picture: true },
  { name: "flame", place: "by=thread", isThere: isSampled, least: 0, picture: true, isSplit: true },
  { name: "assembly", isThere: ({ has }) => has.samples, only: ["native"], least: 3, tables: instructions },
  { name: "tree", isThere: isSampled, least: 2, rows: true },
  { name: "tree", place: "libraries=folded", isThere: isSampled, least: 2, rows: true },
  { name: "source", place: "total=1&hot=1", isThere: hasLines, least: 1, tables: lines, isTab: true },
  { name: "graph", isThere: isSampled, least: 0, tables: graph, opens: ".numbers summary" },
  { name: "square", isThere: isSampled, least: 0 },
  { name: "memory", isThere: ({ has }) => has.memory || has.gauges, least: 2, tables: memory, points: AMOUNTS, opens: ".over-time summary" },
  ...MEMORY.map((table) => ({ name: "memory", place: `table=${table}`, isThere: hasMemory, least: 5, tables: memory, points: AMOUNTS, isTab: true })),
  ...["allocated", "live", "peak", "temporary", "copied"].flatMap((of) => [
    { name: "overview", place: `of=${of}`, isThere: hasMemory, only: ["memory"], least: 1, tables: overview, isTab: true },
    { name: "functions", place: `of=${of}${of === "peak" ? "" : "&count=1"}`, isThere: hasMemory, only: ["memory"], least: 0, tables: functions, isTab: true },
    { name: "source", place: `of=${of}`, isThere: hasMemory, only: ["memory"], least: 0, tables: lines, isTab: true },
    { name: "flame", place: `of=${of}`, isThere: hasMemory, only: ["memory"], least: 0, picture: true, isTab: true },
  ]),
  { name: "exact", isThere: ({ has }) => has.calls, least: 4, tables: calls, points: "tbody tr[data-row]", chooses: "tbody tr[data-row]" },
  { name: "exact", place: "exact=lines", isThere: ({ has }) => has.counted_lines, least: 4, tables: countedLines, points: ".code tr:has([data-is])" },
  { name: "exact", place: "exact=exceptions", isThere: ({ has }) => has.exceptions, least: 3, tables: exceptions, points: "tbody tr[data-row]" },
  { name: "timeline", isThere: ({ has }) => has.times || has.gauges || has.spans, least: 2, tables: timeline, points: ".plot", opens: "summary" },
  { name: "heatmap", isThere: ({ has }) => has.times, least: 3, tables: heatmap, points: ".heat canvas" },
  { name: "compare", isThere: isPair, least: 4, tables: difference, points: ".changes tbody tr[data-row]" },
  { name: "compare", place: "state=every&total=1", isThere: isPair, least: 4, tables: difference, points: "main canvas", isTab: true },
  { name: "compare", place: "of=live", isThere: isPair, only: ["memories"], least: 4, tables: difference, isTab: true },
  { name: "heap", isThere: isHeap, least: 6, tables: heap, points: "tbody tr[data-row]", chooses: "tbody tr[data-row]" },
  ...["biggest", "tree", "duplicates"].map((tab) => ({ name: "heap", place: `heap=${tab}`, isThere: isHeap, least: 2, tables: heap, points: tab === "duplicates" ? undefined : "[data-row^='@']", isTab: tab !== "tree" })),
  { name: "heap", place: "heap=path&object=dict", isThere: isHeap, least: 3, tables: heap },
  { name: "heap", place: "heap=difference", isThere: areHeaps, least: 6, tables: heap, points: "tbody tr[data-row]", opens: "summary" },
];

/** What a set of files has beyond its parts, which are looked at alone too; exact memory beyond a sample of it. */
const OF_SETS = { exact: "memory", cpus: "compare", memories: "compare", counts: "compare", both: "heap", heaps: "heap" };

/** The views of a recording, or of several. */
export function viewsOf(name, about) {
  const [{ has }] = [...about.recordings, { has: {} }];
  const views = viewsThatAre(name, about);
  // A recording of memory alone weighs what was allocated.
  const isMemoryAlone = has.memory && !has.samples;
  const weighed = ({ place, ...view }) => ({ ...view, place: [place, "of=allocated"].filter((part) => part !== undefined).join("&") });
  return views.map((view) => (isMemoryAlone && OF_SAMPLES.includes(view.name) ? weighed(view) : view));
}

const OF_SAMPLES = ["overview", "functions", "source", "flame", "tree", "graph"];

function viewsThatAre(name, about) {
  return VIEWS.filter(({ name: view, isThere, only }) => {
    const [recording = { has: {} }] = about.recordings;
    return isThere(recording, about) && (only === undefined || only.includes(name)) && (OF_SETS[name] ?? view) === view;
  });
}

/** The hash of a place. */
export function hashOf(name, place = "", filter = "") {
  const values = new URLSearchParams(place);
  if (filter !== "") {
    values.set("filter", filter);
  }
  const query = values.toString();
  return `#${name}${query === "" ? "" : `?${query}`}`;
}
