// Exceptions that were counted: how many, of which type, who raised them, and how they ended.

import { useAnswer } from "../../ask";
import { shared } from "../../parts/asked";
import { tell } from "../../parts/details";
import { Figure } from "../../parts/figure";
import { Table, type Column } from "../../parts/table";
import { Waiting } from "../../parts/waiting";
import { placeWords, Where } from "../../parts/where";
import { usePlace } from "../../place";
import type { Exception, Exceptions } from "../../reports";

const COLUMNS: Column<Exception>[] = [
  { title: "Raised", order: (row) => row.count, cell: (row) => <Figure row={row} is="count" />, isNumber: true, width: "7em" },
  { title: "Type", order: (row) => row.type, cell: (row) => <b>{row.type}</b>, width: "20%" },
  { title: "Raised by", order: (row) => placeWords(row.raised_by), cell: (row) => <Where at={row.raised_by} /> },
  { title: "End", order: endWords, cell: (row) => (row.caught_by === null ? <span class={row.end === "left" ? "warning" : "soft"}>{endWords(row)}</span> : <Where at={row.caught_by} />) },
];

export function ExceptionsOf() {
  const { filter, recording } = shared(usePlace());
  const answer = useAnswer<Exceptions>("report", { filter, recording, what: "exceptions", limit: 5000 });
  return (
    <Waiting answer={answer}>
      {(report) => (
        <>
          <p class="memory-note" data-table="exceptions" data-row="all">
            <b><Figure row={report} is="raised" /></b> exceptions were raised: <Figure row={report} is="caught" /> caught
            {report.left > 0 && <>, <Figure row={report} is="left" /> left the program or a thread</>}
            {report.unseen > 0 && <>, <Figure row={report} is="unseen" /> without an end that was seen</>}.
          </p>
          <Table
            rows={report.exceptions}
            columns={COLUMNS}
            label="Exceptions"
            name="exceptions"
            keyOf={exceptionKey}
            onPoint={(row) =>
              tell(
                <span data-table="exceptions" data-row={exceptionKey(row)}>
                  <b>{row.type}</b> · <Figure row={row} is="count" /> raised by <bdi>{placeWords(row.raised_by)}</bdi> <bdi>{row.raised_by.file ?? ""}</bdi> · {endWords(row)}
                </span>,
              )
            }
          />
          {report.rows_left_out > 0 && <p class="soft memory-note" data-table="exceptions" data-row="all"><Figure row={report} is="rows_left_out" /> rarer rows are left out.</p>}
        </>
      )}
    </Waiting>
  );
}

function exceptionKey(row: Exception): string {
  return `${row.type} ${row.raised_by.file ?? ""}:${row.raised_by.line ?? ""} ${row.caught_by?.file ?? row.end}:${row.caught_by?.line ?? ""}`;
}

function endWords(row: Exception): string {
  return row.caught_by !== null ? `caught by ${placeWords(row.caught_by)}` : row.end === "left" ? "left the program or its thread" : "its end was not seen";
}
