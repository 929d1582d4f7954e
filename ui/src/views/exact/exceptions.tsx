// Exceptions that were counted: how many, of which type, who raised them, and how they ended.

import { useAnswer } from "../../ask";
import { count } from "../../numbers";
import { shared } from "../../parts/asked";
import { tell } from "../../parts/details";
import { Table, type Column } from "../../parts/table";
import { Waiting } from "../../parts/waiting";
import { placeWords, Where } from "../../parts/where";
import { usePlace } from "../../place";
import type { Exception, Exceptions } from "../../reports";

const COLUMNS: Column<Exception>[] = [
  { title: "Raised", order: (row) => row.count, cell: (row) => <span data-number={row.count}>{count(row.count)}</span>, isNumber: true, width: "7em" },
  { title: "Type", order: (row) => row.type, cell: (row) => <b>{row.type}</b>, width: "20%" },
  { title: "Raised by", order: (row) => placeWords(row.raised_by), cell: (row) => <Where at={row.raised_by} /> },
  { title: "End", order: endWords, cell: (row) => (row.caught_by === null ? <span class={row.end === "left" ? "warning" : "soft"}>{endWords(row)}</span> : <Where at={row.caught_by} />) },
];

export function ExceptionsOf() {
  const { filter, recording } = shared(usePlace());
  const answer = useAnswer<Exceptions>("report", { filter, recording, what: "exceptions", limit: 5000 });
  return (
    <Waiting answer={answer}>
      {({ exceptions, raised, caught, left, unseen, rows_left_out }) => (
        <>
          <p class="memory-note">
            <b data-number={raised}>{count(raised)}</b> exceptions were raised: {count(caught)} caught
            {left > 0 && `, ${count(left)} left the program or a thread`}
            {unseen > 0 && `, ${count(unseen)} without an end that was seen`}.
          </p>
          <Table
            rows={exceptions}
            columns={COLUMNS}
            label="Exceptions"
            onPoint={(row) =>
              tell(
                <>
                  <b>{row.type}</b> · {count(row.count)} raised by {placeWords(row.raised_by)} {row.raised_by.file ?? ""} · {endWords(row)}
                </>,
              )
            }
          />
          {rows_left_out > 0 && <p class="soft memory-note">{count(rows_left_out)} rarer rows are left out.</p>}
        </>
      )}
    </Waiting>
  );
}

function endWords(row: Exception): string {
  return row.caught_by !== null ? `caught by ${placeWords(row.caught_by)}` : row.end === "left" ? "left the program or its thread" : "its end was not seen";
}
