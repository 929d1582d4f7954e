// The biggest objects of a heap, and the texts that are there more than once.

import { useAnswer } from "../../ask";
import { tell } from "../../parts/details";
import { Figure } from "../../parts/figure";
import { forWidth, useNarrow } from "../../parts/narrow";
import { Table, type Column } from "../../parts/table";
import { Waiting } from "../../parts/waiting";
import type { GraphRetaining, GraphText, HeapBiggest, HeapDuplicates } from "../../reports";
import { idOf, ObjectName, objectWords, retaining, showHolders } from "./objects";

/** Rows of an answer. */
const ROWS = 1000;

export function Biggest({ snapshot }: { snapshot: number }) {
  const isNarrow = useNarrow();
  const answer = useAnswer<HeapBiggest>("heap", { snapshot, what: "biggest", limit: ROWS });
  return (
    <Waiting answer={answer}>
      {({ biggest }) => {
        const most = Math.max(...biggest.map(({ retained_share }) => retained_share), 1e-9);
        const columns: Column<GraphRetaining>[] = [
          ...retaining<GraphRetaining>(most),
          { title: "Object", order: objectWords, cell: (row) => <ObjectName row={row} /> },
        ];
        return (
          <>
            <Table
              key={String(isNarrow)}
              rows={biggest}
              {...forWidth(isNarrow, columns)}
              label="The objects that retain most"
              name="objects"
              keyOf={(row) => idOf(row.id)}
              onPoint={(row) =>
                tell(
                  <span data-table="objects" data-row={idOf(row.id)}>
                    <b>{objectWords(row)}</b> <bdi>{row.path ?? ""}</bdi> · <Figure row={row} is="retained_bytes" /> would go with it (<Figure row={row} is="retained_share" />) · its own{" "}
                    <Figure row={row} is="bytes" />
                  </span>,
                )
              }
              onChoose={(row) => showHolders(idOf(row.id))}
            />
            <p class="soft memory-note">Click an object to see who holds it.</p>
          </>
        );
      }}
    </Waiting>
  );
}

const TEXTS: Column<GraphText>[] = [
  { title: "Wasted", about: "The bytes of all strings with this text but one", order: (row) => row.wasted_bytes, cell: (row) => <Figure row={row} is="wasted_bytes" />, isNumber: true, width: "7em" },
  { title: "Objects", order: (row) => row.objects, cell: (row) => <Figure row={row} is="objects" />, isNumber: true, width: "7em" },
  { title: "Bytes", order: (row) => row.bytes, cell: (row) => <Figure row={row} is="bytes" />, isNumber: true, width: "7em" },
  { title: "Text", order: (row) => row.text, cell: (row) => <code>{JSON.stringify(row.text.slice(0, 300))}</code> },
];

export function Duplicates({ snapshot }: { snapshot: number }) {
  const answer = useAnswer<HeapDuplicates>("heap", { snapshot, what: "duplicates", limit: ROWS });
  return (
    <Waiting answer={answer}>
      {({ duplicates, texts_are_hidden, strings }) =>
        texts_are_hidden ? (
          <p class="soft memory-note">
            This snapshot hides what strings hold, so equal ones cannot be told. <code>profundo snapshot --no-redact</code> writes them.
          </p>
        ) : duplicates.length === 0 ? (
          <p class="soft memory-note">{strings === 0 ? "The snapshot has no strings whose text it tells." : "No two strings are equal."}</p>
        ) : (
          <Table rows={duplicates} columns={TEXTS} label="Texts that are there more than once" name="texts" keyOf={(row) => row.text} />
        )
      }
    </Waiting>
  );
}
