// The call graph as it is answered: boxes and arrows with their numbers and their places.

import type { Shares } from "../../parts/shares";

export interface GraphNode extends Shares {
  name: string;
  file: string;
  line: number;
  kind: string;
  samples: number;
  calls: number;
  title: string;
  place: string;
  figures: string;
  font: number;
  area: [left: number, top: number, width: number, height: number];
}

export interface GraphEdge {
  caller: number;
  callee: number;
  weight: number;
  share: number;
  share_low: number | null;
  share_high: number | null;
  calls: number;
  is_bridge: boolean;
  line: string;
  width: number;
  tip: string;
  label: string;
  label_area: [left: number, top: number, width: number, height: number] | null;
}

/** The answer to `graph`. */
export interface Graph {
  unit: string;
  whole: number;
  width: number;
  height: number;
  nodes: GraphNode[];
  edges: GraphEdge[];
  nodes_left_out: number;
  edges_left_out: number;
  shown_share: number;
  coverage: string;
  centre: number | null;
}

/** What a reader has chosen: a box or an arrow. */
export type Chosen = { node: number } | { edge: number } | undefined;

/** The nodes next to one: those on its arrows. */
export function neighboursOf(graph: Graph, node: number): Set<number> {
  const found = new Set<number>();
  for (const { caller, callee } of graph.edges) {
    if (caller === node) {
      found.add(callee);
    }
    if (callee === node) {
      found.add(caller);
    }
  }
  return found;
}

/** The node that an arrow key leads to: up to the heaviest caller, down to the heaviest callee, and to
    the neighbours at about the same height. */
export function stepFrom(graph: Graph, node: number, key: string): number {
  const by = (edges: GraphEdge[], end: "caller" | "callee") => edges.filter(({ caller, callee }) => caller !== callee)[0]?.[end] ?? node;
  // Arrows are in the order of their weights.
  switch (key) {
    case "ArrowUp":
      return by(graph.edges.filter(({ callee }) => callee === node), "caller");
    case "ArrowDown":
      return by(graph.edges.filter(({ caller }) => caller === node), "callee");
    default: {
      const middle = ({ area }: GraphNode) => [area[0] + area[2] / 2, area[1] + area[3] / 2];
      const [x, y] = middle(graph.nodes[node]);
      const way = key === "ArrowRight" ? 1 : -1;
      let [best, least] = [node, Infinity];
      graph.nodes.forEach((other, at) => {
        const [otherX, otherY] = middle(other);
        const distance = way * (otherX - x) + 4 * Math.abs(otherY - y);
        if (at !== node && way * (otherX - x) > 1 && distance < least) {
          [best, least] = [at, distance];
        }
      });
      return best;
    }
  }
}
