// What the bar says of a box and of an arrow of the call graph.

import { Figure } from "../../parts/figure";
import { ShareRange } from "../../parts/shares";
import type { Graph } from "./answer";

function Amount({ graph, row, is }: { graph: Graph; row: object; is: string }) {
  const { unit } = graph;
  return (
    <>
      <Figure row={row} is={is} unit={unit} />
      {(unit === "calls" || unit === "samples") && ` ${unit}`}
    </>
  );
}

export function NodeDetails({ graph, node }: { graph: Graph; node: number }) {
  const row = graph.nodes[node];
  return (
    <span data-table="functions">
      <span data-row={`${row.name} ${row.file}`}>
        <b>{row.name}</b> · total <Amount graph={graph} row={row} is="total_weight" /> (<Figure row={row} is="total_share" />
        <ShareRange row={row} is="total_share" />) · self <Amount graph={graph} row={row} is="self_weight" /> (<Figure row={row} is="self_share" />
        <ShareRange row={row} is="self_share" />)
        {row.calls > 0 && <> · <Figure row={row} is="calls" /> calls</>}
        {row.file !== "" && <> · <bdi>{`${row.file}:${row.line}`}</bdi></>}
      </span>
    </span>
  );
}

export function EdgeDetails({ graph, edge }: { graph: Graph; edge: number }) {
  const row = graph.edges[edge];
  const [caller, callee] = [graph.nodes[row.caller].name, graph.nodes[row.callee].name];
  return (
    <span data-table="arrows" data-row={`${caller} ${callee}`}>
      <b>{caller}</b> calls <b>{callee}</b>
      {row.is_bridge && " through functions that are left out"} · <Amount graph={graph} row={row} is="weight" /> (<Figure row={row} is="share" />
      <ShareRange row={row} is="share" />)
      {row.calls > 0 && <> · <Figure row={row} is="calls" /> calls</>}
    </span>
  );
}
