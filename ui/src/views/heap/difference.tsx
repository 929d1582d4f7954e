// What is different in a later snapshot, by type: what came, what went, what there is now.

import { useAnswer } from "../../ask";
import { tell } from "../../parts/details";
import { Figure } from "../../parts/figure";
import { forWidth, useNarrow } from "../../parts/narrow";
import { Table, type Column } from "../../parts/table";
import { Waiting } from "../../parts/waiting";
import type { GraphChange, GraphOwnerGrowth, GraphSize, HeapDifference } from "../../reports";
import { idOf, objectWords } from "./objects";

/** Types of an answer. */
const ROWS = 2000;

const number = (title: string, about: string, is: Exclude<keyof GraphChange, "type" | "owners">): Column<GraphChange> => ({
  title,
  about,
  order: (row) => row[is] ?? 0,
  cell: (row) => (row[is] === 0 ? "" : <Figure row={row} is={is} />),
  isNumber: true,
  width: "7.8em",
});

const COLUMNS: Column<GraphChange>[] = [
  number("Now", "Bytes now", "bytes_now"),
  number("Before", "Bytes before", "bytes_before"),
  number("New", "Bytes of objects that were not there before", "new_bytes"),
  number("Gone", "Bytes of objects that are not there any more", "gone_bytes"),
  number("Objects", "Objects now", "objects_now"),
  number("Before", "Objects before", "objects_before"),
];

export function DifferenceOf({ before, now }: { before: string; now: string }) {
  const isNarrow = useNarrow();
  const answer = useAnswer<HeapDifference>("heap", { what: "difference", limit: ROWS });
  return (
    <Waiting answer={answer}>
      {(found) => (
        <>
          <p class="memory-note">
            <b>Before:</b> {before}, <Size row="before" size={found.before} />. <b>Now:</b> {now}, <Size row="now" size={found.now} />. Types that have grown most come first.
            {!found.has_stable_ids && (
              <span class="warning"> Hardly any object has the same id in both, as if they were of different processes: which objects are new is not told.</span>
            )}
          </p>
          {found.types.length === 0 ? (
            <p class="soft memory-note">Nothing has changed.</p>
          ) : (
            <Table
              key={String(isNarrow)}
              rows={found.types}
              {...forWidth(isNarrow, [...COLUMNS, { title: "Type", order: (row) => row.type, cell: (row) => <TypeName row={row} /> }], -1)}
              name="difference"
              keyOf={(row) => row.type}
              label="Types, by how much they have grown"
              onPoint={(row) => tell(<ChangeWords row={row} />)}
            />
          )}
          {found.largest_new.length > 0 && (
            <details class="as-table">
              <summary>The largest objects that are new</summary>
              <ol class="plain-list" data-table="objects">
                {found.largest_new.map((row) => (
                  <li key={row.id} data-row={idOf(row.id)}>
                    <b><Figure row={row} is="bytes" /></b> {objectWords(row)}
                  </li>
                ))}
              </ol>
            </details>
          )}
        </>
      )}
    </Waiting>
  );
}

function Size({ row, size }: { row: string; size: GraphSize }) {
  return (
    <span data-table="sizes" data-row={row}>
      <Figure row={size} is="objects" /> objects of <Figure row={size} is="bytes" />
    </span>
  );
}

/** The type, and the owner whose objects of it have grown most. */
function TypeName({ row }: { row: GraphChange }) {
  const [owner] = row.owners;
  return (
    <span class="where">
      <b>{row.type}</b> {owner?.owner && <span class="soft">most of {owner.owner}</span>}
    </span>
  );
}

function ChangeWords({ row }: { row: GraphChange }) {
  return (
    <span data-table="difference" data-row={row.type}>
      <b>{row.type}</b> · from <Figure row={row} is="bytes_before" /> in <Figure row={row} is="objects_before" /> objects to <Figure row={row} is="bytes_now" /> in{" "}
      <Figure row={row} is="objects_now" />
      {row.owners.slice(0, 4).map((owner: GraphOwnerGrowth) => (
        <span key={owner.owner ?? ""} data-table="owner_changes" data-row={`${row.type} ${owner.owner ?? ""}`}>
          {" "}
          · <bdi>{owner.owner ?? "no known owner"}</bdi> <Figure row={owner} is="bytes_before" /> to <Figure row={owner} is="bytes_now" />
        </span>
      ))}
    </span>
  );
}
