// The views of the page, in the order of their tabs.

import type { ComponentType } from "preact";

import { isCompared, type About, type AboutRecording } from "../about";
import { isFile } from "../ask";
import { AssemblyView } from "./assembly";
import { CompareView } from "./compare";
import { ExactView } from "./exact";
import { FlameView } from "./flame";
import { FunctionsView } from "./functions";
import { GraphView } from "./graph";
import { HeapView } from "./heap";
import { HeatmapView } from "./heatmap";
import { MemoryView } from "./memory";
import { OverviewView } from "./overview";
import { SourceView } from "./source";
import { SquareView } from "./squares";
import { TimelineView } from "./timeline";
import { TreeView } from "./tree";

export interface View {
  name: string;
  title: string;
  isThere: (recording: AboutRecording, about: About) => boolean;
  /** Why it is not there. */
  missing: string;
  View: ComponentType<{ recording: AboutRecording }>;
}

/** A view that needs no recording. */
interface ViewOfHeaps {
  name: string;
  title: string;
  View: ComponentType<{ recording?: AboutRecording }>;
}

/** The view of heap snapshots. */
export const HEAP: ViewOfHeaps = { name: "heap", title: "Heap", View: HeapView };

/** The views of a page without recordings: two heap snapshots are compared. */
export function viewsOfHeaps(about: About): ViewOfHeaps[] {
  return [...(isCompared(about) ? [{ name: "compare", title: "Compare", View: CompareView }] : []), HEAP];
}

export const VIEWS: View[] = [
  {
    name: "compare",
    title: "Compare",
    isThere: (_, about) => isCompared(about),
    missing: "Two recordings are compared, or two heap snapshots: `profundo view BEFORE AFTER`.",
    View: CompareView,
  },
  { name: "overview", title: "Overview", isThere: () => true, missing: "", View: OverviewView },
  {
    name: "flame",
    title: "Flame",
    isThere: ({ has }) => has.samples || has.memory,
    missing: "The recording has no samples, so there is no flame graph.",
    View: FlameView,
  },
  {
    name: "source",
    title: "Source",
    isThere: ({ has }) => has.lines && (has.samples || has.memory || has.calls || has.counted_lines),
    missing: "No function of the recording has a line of a file.",
    View: SourceView,
  },
  {
    name: "functions",
    title: "Functions",
    isThere: ({ has }) => has.samples || has.memory,
    missing: "The recording has no samples of functions.",
    View: FunctionsView,
  },
  {
    name: "memory",
    title: "Memory",
    isThere: ({ has }) => has.memory || has.gauges,
    missing: "The recording has no memory: `profundo run --memory` records it.",
    View: MemoryView,
  },
  {
    name: "exact",
    title: "Counted",
    isThere: ({ has }) => has.calls || has.counted_lines || has.exceptions,
    missing: "Nothing was counted in this recording: `profundo trace` counts calls, lines or exceptions.",
    View: ExactView,
  },
  {
    name: "timeline",
    title: "Timeline",
    isThere: ({ has }) => has.times || has.gauges || has.spans,
    missing: "Nothing in the recording has a place in time.",
    View: TimelineView,
  },
  {
    name: "heatmap",
    title: "Heatmap",
    isThere: ({ has }) => has.times,
    missing: "No sample of the recording has a place in time.",
    View: HeatmapView,
  },
  {
    name: "tree",
    title: "Tree",
    isThere: ({ has }) => has.samples || has.memory,
    missing: "The recording has no samples of calls.",
    View: TreeView,
  },
  {
    name: "assembly",
    title: "Assembly",
    isThere: ({ has }) => !isFile && has.samples && has.code,
    missing: "Instructions are read from the programs on this machine: `profundo view FILE` shows them.",
    View: AssemblyView,
  },
  {
    name: "graph",
    title: "Graph",
    isThere: ({ has }) => !isFile && (has.samples || has.memory),
    missing: "The call graph needs the recording itself: `profundo view FILE` shows it.",
    View: GraphView,
  },
  {
    name: "square",
    title: "Squares",
    isThere: ({ has }) => has.samples || has.memory,
    missing: "The recording has no samples of calls.",
    View: SquareView,
  },
];

/** The view that a page begins with: of two recordings, what has changed. */
export function firstView(about: About | undefined): string {
  return (about?.before ?? null) === null ? "overview" : "compare";
}
