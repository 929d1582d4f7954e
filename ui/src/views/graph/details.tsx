// What the bar says of a box and of an arrow of the call graph.

import { count, percent, weight } from "../../numbers";
import type { Graph } from "./answer";

function Range({ row, is }: { row: object; is: string }) {
  const members = row as Record<string, number | null>;
  const [low, high] = [members[`${is}_low`], members[`${is}_high`]];
  return low === null || high === null || low === high ? null : (
    <span class="soft" title="95 of 100 such ranges hold the true share">
      {": "}
      <span data-number={low} data-is={`${is}_low`}>{percent(low)}</span> to <span data-number={high} data-is={`${is}_high`}>{percent(high)}</span>
    </span>
  );
}

function amount(graph: Graph, value: number): string {
  return graph.unit === "calls" || graph.unit === "samples" ? `${count(value)} ${graph.unit}` : weight(value, graph.unit);
}

export function NodeDetails({ graph, node }: { graph: Graph; node: number }) {
  const row = graph.nodes[node];
  return (
    <span data-table="functions">
      <span data-row={`${row.name} ${row.file}`}>
        <b>{row.name}</b> · total {amount(graph, row.total_weight)} (<span data-number={row.total_share} data-is="total_share">{percent(row.total_share)}</span>
        <Range row={row} is="total_share" />) · self {amount(graph, row.self_weight)} (<span data-number={row.self_share} data-is="self_share">{percent(row.self_share)}</span>
        <Range row={row} is="self_share" />)
        {row.calls > 0 && ` · ${count(row.calls)} calls`} {row.file !== "" && <bdi>{`${row.file}:${row.line}`}</bdi>}
      </span>
    </span>
  );
}

export function EdgeDetails({ graph, edge }: { graph: Graph; edge: number }) {
  const row = graph.edges[edge];
  const [caller, callee] = [graph.nodes[row.caller].name, graph.nodes[row.callee].name];
  return (
    <>
      <b>{caller}</b> calls <b>{callee}</b>
      {row.is_bridge && " through functions that are left out"} · {amount(graph, row.weight)} (<span data-number={row.share} data-is="share">{percent(row.share)}</span>
      <Range row={row} is="share" />)
      {row.calls > 0 && ` · ${count(row.calls)} calls`}
    </>
  );
}
