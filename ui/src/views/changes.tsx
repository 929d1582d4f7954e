// The rows of a difference: new, gone, changed, and those whose change may be chance, in grey.

import { useState } from "preact/hooks";

import type { AboutRecording } from "../about";
import { isFile, useAnswer, type Values } from "../ask";
import { base } from "../numbers";
import { tell } from "../parts/details";
import { Ends, Figure, Shown } from "../parts/figure";
import { Table, type Column } from "../parts/table";
import { change, show, usePlace } from "../place";
import type { Diff, DiffRow, DiffTable } from "../reports";
import { exactly, withTerm } from "../terms";

const TITLES: Record<string, string> = {
  function: "functions",
  line: "lines",
  stack: "call paths",
  type: "types",
  thread: "threads",
  process: "programs",
  task: "tasks",
  kind: "kinds of time",
  wait: "waits",
  io: "files and sockets",
  span: "spans",
  calls: "counted calls",
  hits: "counted lines",
};

/** The rows that a reader can ask for beside those that come first, and which recordings have them. */
const OTHERS: [by: string, isThere: (recording: AboutRecording) => boolean][] = [
  ["stack", ({ has }) => has.samples || has.memory],
  ["type", ({ has }) => has.memory],
  ["thread", ({ threads }) => threads.length > 1],
  ["process", ({ processes }) => processes.length > 1],
  ["task", ({ tasks }) => tasks.length > 0],
  ["kind", ({ has }) => has.samples],
  ["wait", ({ has }) => has.waits],
  ["io", ({ has }) => has.io],
  ["span", ({ has }) => has.spans],
];

/** What has become of a row. */
type State = "new" | "gone" | "grew" | "shrank" | "chance";

const STATES: [string, string][] = [
  ["", "all that changed"],
  ["new", "new"],
  ["gone", "gone"],
  ["grew", "grew"],
  ["shrank", "shrank"],
  ["chance", "may be chance"],
  ["every", "every row"],
];

/** The members of a row, of the function itself or with what it calls. */
interface Side {
  before: number;
  after: number;
  change: number;
  changed: boolean;
}

function sideOf(row: DiffRow, isTotal: boolean): Side {
  return isTotal
    ? { before: row.total_before, after: row.total_after, change: row.total_change, changed: row.total_changed }
    : { before: row.self_before, after: row.self_after, change: row.self_change, changed: row.self_changed };
}

function stateOf(row: DiffRow, isTotal: boolean): State {
  const side = sideOf(row, isTotal);
  if (!side.changed) {
    return "chance";
  }
  if (row.what === "new" || row.what === "gone") {
    return row.what;
  }
  return side.change > 0 ? "grew" : "shrank";
}

/** The words for what has become of a row and of its code. */
function words(row: DiffRow, state: State): string {
  const what = ["moved", "edited", "renamed"].includes(row.what) ? `, ${row.what}` : "";
  return `${state === "chance" ? "may be chance" : state}${what}`;
}

/** The table that is chosen: one of the first answer, or one that is asked for. */
export function Changes({ diff, recording, question }: { diff: Diff; recording?: AboutRecording; question: Values }) {
  const { by } = usePlace().values;
  const known = diff.tables.find((table) => table.by === by);
  const others = isFile || recording === undefined ? [] : OTHERS.filter(([by, isThere]) => isThere(recording) && diff.tables.every((table) => table.by !== by)).map(([by]) => by);
  const wanted = known === undefined && by !== undefined && others.includes(by) ? by : undefined;
  const asked = useAnswer<Diff>(wanted === undefined ? undefined : "diff", { ...question, by: wanted, all: true, limit: 2000 });
  const other = wanted === undefined ? undefined : asked.value?.tables.find((table) => table.by === wanted);
  return (
    <>
      <Rows table={other ?? known ?? diff.tables[0]} choices={[...diff.tables.map(({ by }) => by), ...others]} asked={wanted} />
      {asked.error !== undefined && wanted !== undefined && <p class="refusal">{asked.error}</p>}
    </>
  );
}

function Rows({ table, choices, asked }: { table: DiffTable | undefined; choices: string[]; asked?: string }) {
  const place = usePlace();
  const [search, setSearch] = useState("");
  const isTotal = place.values.total === "1";
  const wanted = place.values.state ?? "";
  if (table === undefined) {
    return null;
  }
  const text = search.toLowerCase();
  const rows = table.rows.filter((row) => {
    const state = stateOf(row, isTotal);
    const isWanted = wanted === "every" || (wanted === "" ? state !== "chance" : state === wanted);
    return isWanted && `${row.name} ${fileOf(row)}`.toLowerCase().includes(text);
  });
  return (
    <section class="card changes" aria-label="Changes">
      <div class="tools">
        <h2>Changes</h2>
        <label>
          of{" "}
          <select value={asked ?? table.by} onChange={(event) => change({ by: event.currentTarget.value }, false)}>
            {choices.map((by) => (
              <option key={by} value={by}>
                {TITLES[by] ?? by}
              </option>
            ))}
          </select>
        </label>
        <label>
          Show{" "}
          <select value={wanted} onChange={(event) => change({ state: event.currentTarget.value }, false)}>
            {STATES.map(([value, title]) => (
              <option key={value} value={value}>
                {title}
              </option>
            ))}
          </select>
        </label>
        <label>
          <input type="checkbox" checked={isTotal} onChange={(event) => change({ total: event.currentTarget.checked ? "1" : "" }, false)} /> with callees
        </label>
        <label>
          Search <input type="search" value={search} spellcheck={false} onInput={(event) => setSearch(event.currentTarget.value)} />
        </label>
        <span class="soft" role="status">
          <Shown table={table.by} shown={rows.length} all={table.rows.length + table.rows_left_out} /> rows
        </span>
      </div>
      {rows.length === 0 ? (
        <p class="soft">{wanted === "" ? "No row has changed by more than chance explains." : "No row is in this state."}</p>
      ) : (
        <Table
          key={`${table.by} ${isTotal}`}
          rows={rows}
          columns={columns(table, isTotal)}
          name={table.by}
          keyOf={(row) => row.name}
          label={`Changes of ${TITLES[table.by] ?? table.by}`}
          sortedBy={3}
          onPoint={(row) => tell(<RowDetails row={row} table={table} isTotal={isTotal} />)}
          onChoose={(row) =>
            ["function", "line"].includes(table.by) &&
            show("compare", { filter: withTerm(place.values.filter ?? "", "focus", exactly(functionOf(row))) })
          }
        />
      )}
    </section>
  );
}

function columns(table: DiffTable, isTotal: boolean): Column<DiffRow>[] {
  const side = (row: DiffRow) => sideOf(row, isTotal);
  const of = isTotal ? "total" : "self";
  const grey = (row: DiffRow) => (side(row).changed ? "" : "soft");
  return [
    {
      title: "What",
      about: "What has become of it",
      order: (row) => stateOf(row, isTotal),
      cell: (row) => <span class={`state state-${stateOf(row, isTotal)}`}>{words(row, stateOf(row, isTotal))}</span>,
      width: "9em",
    },
    { title: "Before", order: (row) => side(row).before, cell: (row) => <span class={grey(row)}><Figure row={row} is={`${of}_before`} unit={table.unit} /></span>, isNumber: true, width: "6.5em" },
    { title: "After", order: (row) => side(row).after, cell: (row) => <span class={grey(row)}><Figure row={row} is={`${of}_after`} unit={table.unit} /></span>, isNumber: true, width: "6.5em" },
    {
      title: "Change",
      about: "Beyond the factor that all rows share",
      order: (row) => Math.abs(side(row).change),
      cell: (row) => <b class={grey(row)}><Figure row={row} is={`${of}_change`} unit={table.unit} isChange /></b>,
      isNumber: true,
      width: "7.5em",
    },
    {
      title: "Interval",
      about: "It holds the change in 95 of 100 cases",
      cell: (row) => <span class="soft"><Ends row={row} is={`${of}_change`} unit={table.unit} isChange /></span>,
      width: "14em",
    },
    { title: table.by === "line" ? "Line" : "Name", order: (row) => row.name, cell: (row) => <span class={grey(row)} title={row.name}>{row.name}</span> },
    { title: "Where", order: fileOf, cell: (row) => <span class="soft" title={fileOf(row)}>{base(fileOf(row))}</span>, width: "16%" },
  ];
}

function fileOf(row: DiffRow): string {
  const place = row.place_after ?? row.place_before;
  if (place === null || place.file === null) {
    return "";
  }
  return place.line === null ? place.file : `${place.file}:${place.line}`;
}

function functionOf(row: DiffRow): string {
  return (row.place_after ?? row.place_before)?.function ?? row.name;
}

function RowDetails({ row, table, isTotal }: { row: DiffRow; table: DiffTable; isTotal: boolean }) {
  const of = isTotal ? "total" : "self";
  const amount = (is: string) => <Figure row={row} is={`${of}_${is}`} unit={table.unit} isChange={is === "change"} />;
  return (
    <span data-table={table.by} data-row={row.name}>
      <b>{row.name}</b> <bdi>{fileOf(row)}</bdi> · {isTotal ? "with callees" : "self"} {amount("before")} before, {amount("after")} after · change {amount("change")},{" "}
      <Ends row={row} is={`${of}_change`} unit={table.unit} isChange />: {words(row, stateOf(row, isTotal))}
    </span>
  );
}
