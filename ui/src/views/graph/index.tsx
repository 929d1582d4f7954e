// The call graph: each function once, with arrows to what it calls. It is pruned where the answer is
// made, more or less as the reader wishes, and can be drawn around one function.

import { useEffect, useState } from "preact/hooks";

import type { AboutRecording } from "../../about";
import { useAnswer } from "../../ask";
import { shared } from "../../parts/asked";
import { Figure } from "../../parts/figure";
import { Legend } from "../../parts/legend";
import { useDark } from "../../parts/dark";
import { tell } from "../../parts/details";
import { Table, type Column } from "../../parts/table";
import { Waiting } from "../../parts/waiting";
import { KINDS, KIND_WORDS } from "../../canvas/colours";
import { base } from "../../numbers";
import { change, usePlace } from "../../place";
import type { Graph, GraphNode } from "./answer";
import { NodeDetails } from "./details";
import { GraphDrawing } from "./drawing";

const BY: [string, string][] = [
  ["", "functions"],
  ["file", "files"],
  ["package", "packages"],
  ["module", "libraries"],
];

const NODES = ["20", "40", "60", "120", "250", "500"];
const ARROWS: [share: string, words: string][] = [
  ["0", "all"],
  ["", "from 0.1 % on"],
  ["0.01", "from 1 % on"],
  ["0.05", "from 5 % on"],
];
const STEPS: [steps: string, words: string][] = [
  ["1", "1 call"],
  ["2", "2 calls"],
  ["3", "3 calls"],
  ["", "any number of calls"],
];

export function GraphView(_: { recording: AboutRecording }) {
  const place = usePlace();
  const { by = "", nodes = "60", arrows, steps, function: centre, file } = place.values;
  const isFunctions = by === "";
  const around = isFunctions ? { function: centre, file, steps } : {};
  const answer = useAnswer<Graph>("graph", { ...shared(place), by, nodes, arrows, ...around });
  return (
    <section class="flame" aria-label="Call graph">
      <div class="tools">
        <Choice title="Boxes are" value={by} choices={BY} onChange={(by) => change({ by, zoom: "" })} />
        <Choice title="at most" value={nodes} choices={NODES.map((nodes) => [nodes, nodes])} onChange={(nodes) => change({ nodes, zoom: "" })} />
        <Choice title="Arrows" value={arrows ?? ""} choices={ARROWS} onChange={(arrows) => change({ arrows, zoom: "" })} />
        {isFunctions && centre !== undefined && (
          <>
            <span class="chip">
              <b>around</b> {centre}
              <button type="button" aria-label={`The graph of everything, not around ${centre}`} onClick={() => change({ function: "", file: "", steps: "", zoom: "" })}>
                ×
              </button>
            </span>
            <Choice title="up to" value={steps ?? ""} choices={STEPS} onChange={(steps) => change({ steps, zoom: "" })} />
          </>
        )}
      </div>
      <Waiting answer={answer}>{(graph) => <Drawn graph={graph} isFunctions={isFunctions} />}</Waiting>
    </section>
  );
}

function Choice({ title, value, choices, onChange }: { title: string; value: string; choices: [string, string][]; onChange: (value: string) => void }) {
  return (
    <label>
      {title}{" "}
      <select value={value} onChange={(event) => onChange(event.currentTarget.value)}>
        {choices.map(([value, words]) => (
          <option key={value} value={value}>
            {words}
          </option>
        ))}
      </select>
    </label>
  );
}

function Drawn({ graph, isFunctions }: { graph: Graph; isFunctions: boolean }) {
  const [chosen, setChosen] = useState<number | undefined>(undefined);
  const isDark = useDark();
  useEffect(() => setChosen(undefined), [graph]);
  const kinds = KIND_WORDS.filter(([kind]) => graph.nodes.some((node) => node.kind === kind));
  // In the first drawing after another answer, what was chosen in the old one is no more.
  const at = chosen !== undefined && chosen < graph.nodes.length ? chosen : undefined;
  return (
    <>
      <GraphDrawing graph={graph} isFunctions={isFunctions} chosen={at} onChoose={setChosen} />
      <p class="soft under" role="status" data-table="graph" data-row="all">
        <LeftOut graph={graph} /> <span class="report-words">{graph.coverage}.</span>
      </p>
      <Legend colours={kinds.map(([kind, words]) => [words, KINDS[kind][isDark ? 1 : 0]])}>
        <li class="soft">name: the larger, the more of its own · colour and width: share with callees · dashed: over functions left out</li>
      </Legend>
      <Numbers graph={graph} chosen={at} onChoose={setChosen} />
    </>
  );
}

/** What is not shown, in words. */
function LeftOut({ graph }: { graph: Graph }) {
  const { nodes_left_out: nodes, edges_left_out: edges } = graph;
  return nodes === 0 && edges === 0 ? null : (
    <>
      <Figure row={graph} is="nodes_left_out" /> {nodes === 1 ? "box" : "boxes"} and <Figure row={graph} is="edges_left_out" /> {edges === 1 ? "arrow" : "arrows"} are not shown.
    </>
  );
}

const COLUMNS: Column<GraphNode>[] = [
  { title: "Self", about: "The time of the function itself, without what it calls", order: (row) => row.self_share, cell: (row) => <Figure row={row} is="self_share" />, isNumber: true, width: "5.5em" },
  { title: "Total", about: "The time of the function and of all that it calls", order: (row) => row.total_share, cell: (row) => <Figure row={row} is="total_share" />, isNumber: true, width: "5.5em" },
  { title: "Box", order: (row) => row.name, cell: (row) => row.name },
  { title: "File", order: (row) => row.file, cell: (row) => (row.file === "" ? "" : <span title={row.file}>{`${base(row.file)}:${row.line}`}</span>), isExtra: true, width: "22%" },
];

/** The boxes and their arrows as a table. */
function Numbers({ graph, chosen, onChoose }: { graph: Graph; chosen: number | undefined; onChoose: (node: number) => void }) {
  const [isOpen, setOpen] = useState(false);
  const callers = (node: GraphNode, end: "caller" | "callee") => {
    const at = graph.nodes.indexOf(node);
    const other = end === "caller" ? "callee" : "caller";
    const names = graph.edges.filter((edge) => edge[other] === at).map((edge) => `${graph.nodes[edge[end]].name} ${edge.label}`.trim());
    return names.join(", ");
  };
  const columns: Column<GraphNode>[] = [
    ...COLUMNS,
    { title: "Called by", cell: (row) => <span class="report-words" title={callers(row, "caller")}>{callers(row, "caller")}</span>, isExtra: true },
    { title: "Calls", cell: (row) => <span class="report-words" title={callers(row, "callee")}>{callers(row, "callee")}</span>, isExtra: true },
  ];
  return (
    <details class="as-table numbers" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>The graph as a table</summary>
      {isOpen && (
        <Table
          rows={graph.nodes}
          columns={columns}
          label="Boxes of the call graph"
          name="functions"
          keyOf={(row) => `${row.name} ${row.file}`}
          sortedBy={1}
          chosen={(row) => graph.nodes.indexOf(row) === chosen}
          onPoint={(row) => row !== undefined && tell(<NodeDetails graph={graph} node={graph.nodes.indexOf(row)} />)}
          onChoose={(row) => onChoose(graph.nodes.indexOf(row))}
        />
      )}
    </details>
  );
}
