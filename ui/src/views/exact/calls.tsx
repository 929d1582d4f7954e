// Functions whose calls were counted, and the callers and callees of one.

import { useState } from "preact/hooks";

import { useAnswer } from "../../ask";
import { base, placeOf } from "../../numbers";
import { shared } from "../../parts/asked";
import { tell } from "../../parts/details";
import { Figure, Shown } from "../../parts/figure";
import { Table, type Column } from "../../parts/table";
import { Waiting } from "../../parts/waiting";
import { Where } from "../../parts/where";
import { change, usePlace } from "../../place";
import type { Counted, Trace, TracedCalls, TracedFunction } from "../../reports";

/** Functions of an answer. */
const ROWS = 20000;
/** Callers or callees that are shown of one. */
const MOST = 200;

const time = (title: string, about: string, is: "self_seconds" | "total_seconds"): Column<TracedFunction> => ({
  title,
  about,
  order: (row) => row[is] ?? 0,
  cell: (row) => <Figure row={row} is={is} />,
  isNumber: true,
  width: "7em",
});

const CALLS: Column<TracedFunction> = {
  title: "Calls",
  about: "How often it was called; behind a slash, how often not by itself",
  order: (row) => row.calls,
  cell: (row) => <CallsOf counted={row} />,
  isNumber: true,
  width: "10em",
};

const TIMES: Column<TracedFunction>[] = [
  time("Self", "The time of the function itself, without what it calls", "self_seconds"),
  time("Total", "The time of the function and of all that it calls", "total_seconds"),
];

const NAMES: Column<TracedFunction>[] = [
  { title: "Function", order: nameOf, cell: (row) => <b>{nameOf(row)}</b> },
  {
    title: "File",
    order: (row) => row.file ?? "",
    cell: (row) => <FileOf file={row.file} line={row.line} />,
    isExtra: true,
    width: "24%",
  },
];

export function Calls() {
  const place = usePlace();
  const { filter, recording } = shared(place);
  const [search, setSearch] = useState("");
  const answer = useAnswer<Trace>("report", { filter, recording, what: "trace", bare: true, limit: ROWS });
  return (
    <Waiting answer={answer}>
      {({ groups, clock }) => {
        const [group] = groups;
        if (group === undefined || group.functions.length === 0) {
          return <p class="soft memory-note">No call passes the filter.</p>;
        }
        const wanted = search.toLowerCase();
        const rows = group.functions.filter((row) => wanted === "" || row.name.toLowerCase().includes(wanted) || nameOf(row).toLowerCase().includes(wanted));
        const isTimed = clock !== "none";
        const chosen = place.values.call;
        return (
          <>
            <div class="tools">
              <label>
                Search{" "}
                <input type="search" data-search value={search} spellcheck={false} onInput={(event) => setSearch(event.currentTarget.value)} />
              </label>
              <span class="soft" data-table="calls" data-row="whole">
                <Shown table="calls" shown={rows.length} all={group.functions.length + group.functions_left_out} /> functions; <Figure row={group.all} is="calls" /> calls in all
                {isTimed && group.all.self_seconds !== null && <>, <Figure row={group.all} is="self_seconds" /> {clock === "cpu" ? "of CPU time" : "of time"}</>}. Choose a function to see its callers and callees.
              </span>
            </div>
            <div class="beside">
              <Table
                rows={rows}
                columns={isTimed ? [...TIMES, CALLS, ...NAMES] : [CALLS, ...NAMES]}
                label="Functions whose calls were counted"
                name="calls"
                keyOf={(row) => row.name}
                chosen={(row) => row.name === chosen}
                onPoint={(row) => tell(<CountedWords row={row} />)}
                onChoose={(row) => change({ call: row.name === chosen ? "" : row.name }, false)}
              />
              {chosen !== undefined && <Neighbours name={chosen} />}
            </div>
          </>
        );
      }}
    </Waiting>
  );
}

function Neighbours({ name }: { name: string }) {
  const { filter, recording } = shared(usePlace());
  const answer = useAnswer<Trace>("report", { filter, recording, what: "trace", name, limit: 1 });
  return (
    <aside class="neighbours" aria-label={`Callers and callees of ${name}`}>
      <h2>
        {short(name)}
        <button type="button" class="plain" aria-label="Close" onClick={() => change({ call: "" }, false)}>
          ×
        </button>
      </h2>
      <Waiting answer={answer}>
        {({ groups }) => {
          const row = groups[0]?.functions[0];
          return row === undefined ? (
            <p class="soft">No call of it passes the filter.</p>
          ) : (
            <>
              <p>
                <FileOf file={row.file} line={row.line} />
              </p>
              <h3>Called by</h3>
              <Rows of={`callers of ${row.name}`} rows={row.callers} none="Nothing that was counted calls it." />
              <h3>Calls</h3>
              <Rows of={`callees of ${row.name}`} rows={row.callees} none="It calls nothing that was counted." />
            </>
          );
        }}
      </Waiting>
    </aside>
  );
}

function Rows({ of, rows, none }: { of: string; rows: TracedCalls[]; none: string }) {
  if (rows.length === 0) {
    return <p class="soft">{none}</p>;
  }
  const sorted = [...rows].sort((a, b) => (b.total_seconds ?? 0) - (a.total_seconds ?? 0) || b.calls - a.calls);
  return (
    <ol data-table={of}>
      {sorted.slice(0, MOST).map((row) => (
        <li key={row.name} data-row={row.name}>
          <b><Figure row={row} is="calls" />×</b>{" "}
          <button type="button" class="plain" title={row.name} onClick={() => change({ call: row.name }, false)}>
            {short(row.name)}
          </button>{" "}
          <span class="soft"><Figure row={row} is="total_seconds" title="With all that it calls, from there" /></span>
        </li>
      ))}
      {rows.length > MOST && <li class="soft" data-row="all">… <Figure row={rows} is="length" /> in all</li>}
    </ol>
  );
}

function CountedWords({ row }: { row: TracedFunction }) {
  return (
    <span data-table="calls" data-row={row.name}>
      <b>{nameOf(row)}</b> <bdi>{row.file ?? ""}</bdi> · <CallsOf counted={row} /> calls
      {row.resumes > 0 && <>, resumed <Figure row={row} is="resumes" /> times</>}
      {row.self_seconds !== null && <> · self <Figure row={row} is="self_seconds" /></>}
      {row.total_seconds !== null && <> · total <Figure row={row} is="total_seconds" /></>}
      {row.total_cost_seconds !== null && row.total_cost_seconds > 0 && <> · the counting took <Figure row={row} is="total_cost_seconds" />, which is not in it</>}
    </span>
  );
}

/** The file of a function: a link to its source, which counted functions have where it was sampled. */
function FileOf({ file, line }: { file: string | null; line: number | null }) {
  if (file === null) {
    return null;
  }
  return line === null || !file.startsWith("/") ? <span title={file}>{placeOf(file, line)}</span> : <Where at={{ file, line }} />;
}

/** How often it was called; behind a slash, how often not by itself. */
function CallsOf({ counted }: { counted: Counted }) {
  return (
    <>
      <Figure row={counted} is="calls" />
      {counted.calls !== counted.primitive_calls && <> / <Figure row={counted} is="primitive_calls" /></>}
    </>
  );
}

function nameOf(row: TracedFunction): string {
  return row.function ?? row.name;
}

/** A standard name without the folders of its file. */
function short(name: string): string {
  const at = name.indexOf(":");
  return at < 0 ? name : base(name.slice(0, at)) + name.slice(at);
}
