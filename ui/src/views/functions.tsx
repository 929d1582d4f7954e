// All functions: self and total time, with their intervals.

import type { AboutRecording } from "../about";
import { useAnswer } from "../ask";
import { placeOf } from "../numbers";
import { shared } from "../parts/asked";
import { tell } from "../parts/details";
import { Amount, Figure, functionKey, Shown } from "../parts/figure";
import { KindBar } from "../parts/kinds";
import { Table, type Column } from "../parts/table";
import { Waiting } from "../parts/waiting";
import { Where } from "../parts/where";
import { change, show, usePlace } from "../place";
import type { Function as FunctionRow, Functions } from "../reports";
import { Interval, interval } from "./overview";

const COLUMNS: Column<FunctionRow>[] = [
  {
    title: "Self",
    about: "The time of the function itself, without what it calls",
    order: (row) => row.self_share,
    cell: (row) => <Figure row={row} is="self_share" title={interval(row)} />,
    isNumber: true,
    width: "5.5em",
  },
  { title: "", cell: (row) => <Amount row={row} prefix="self_" />, isNumber: true, isExtra: true, width: "6em" },
  {
    title: "Total",
    about: "The time of the function and of all that it calls",
    order: (row) => row.total_share,
    cell: (row) => <Figure row={row} is="total_share" />,
    isNumber: true,
    width: "5.5em",
  },
  { title: "", cell: (row) => <Amount row={row} prefix="total_" />, isNumber: true, isExtra: true, width: "6em" },
  { title: "Kinds", about: "Of its own time: Python, native, system, waiting", cell: (row) => <KindBar row={row} prefix="self_" most={row.self_share} />, isExtra: true, width: "7em" },
  { title: "Function", order: (row) => row.function ?? "", cell: (row) => row.function ?? "[unknown]" },
  {
    title: "File",
    order: (row) => row.file ?? "",
    cell: (row) => (row.file === null ? "" : row.line === null ? <span title={row.file}>{placeOf(row.file, row.line)}</span> : <Where at={{ file: row.file, line: row.line }} />),
    isExtra: true,
    width: "22%",
  },
];

export function FunctionsView(_: { recording: AboutRecording }) {
  const place = usePlace();
  const search = place.values.search ?? "";
  const answer = useAnswer<Functions>("report", { ...shared(place), what: "functions", limit: 20000 });
  return (
    <Waiting answer={answer}>
      {(functions) => {
        const wanted = search.toLowerCase();
        const rows = functions.functions.filter(
          (row) => wanted === "" || `${row.function ?? ""} ${row.file ?? ""}`.toLowerCase().includes(wanted),
        );
        return (
          <>
            <div class="tools">
              <label>
                Search{" "}
                <input type="search" data-search value={search} onInput={(event) => change({ search: event.currentTarget.value }, false)} spellcheck={false} />
              </label>
              <span class="soft">
                <Shown table="functions" shown={rows.length} all={functions.functions.length + functions.functions_left_out} /> functions
              </span>
            </div>
            <Table
              rows={rows}
              columns={COLUMNS}
              label="Functions"
              name="functions"
              keyOf={functionKey}
              onPoint={(row) =>
                tell(
                  <span data-table="functions" data-row={functionKey(row)}>
                    <b>{row.function ?? "[unknown]"}</b> <bdi>{row.file ?? ""}</bdi> · self <Amount row={row} prefix="self_" /> (
                    <Figure row={row} is="self_share" />
                    <Interval row={row} />) · total <Amount row={row} prefix="total_" /> (
                    <Figure row={row} is="total_share" />) · <Figure row={row} is="total_samples" /> samples
                  </span>,
                )
              }
              onChoose={(row) =>
                show("flame", { function: row.function ?? "[unknown]", file: row.file ?? "" })
              }
            />
          </>
        );
      }}
    </Waiting>
  );
}
