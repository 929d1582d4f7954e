// The stacks that allocate: a row for each, named by its innermost places. The chosen one is shown
// whole beside the table.

import { useState } from "preact/hooks";

import { isFile, useAnswer } from "../../ask";
import { shared } from "../../parts/asked";
import { tell } from "../../parts/details";
import { Ends, Figure } from "../../parts/figure";
import { forWidth, useNarrow } from "../../parts/narrow";
import { Table, type Column } from "../../parts/table";
import { Waiting } from "../../parts/waiting";
import { Words } from "../../parts/words";
import { placeWords, Where, type At } from "../../parts/where";
import { usePlace } from "../../place";
import { AmountWords, amounts, type Amounts } from "./amounts";
import { memoryQuestion } from ".";

/** Rows of an answer. */
const ROWS = 500;
/** Places of a stack that a row of the table names. */
const NAMED = 4;

/** The answer to `memory_stacks`. */
interface MemoryStacks {
  total: Amounts;
  places: { function: string[]; file: (string | null)[]; line: (number | null)[] };
  stacks: StackRow[];
  left_out: number;
}

/** The places are rows of the answer's, the innermost first. */
interface StackRow extends Amounts {
  stack: number[];
  deeper: number;
}

export function Stacks() {
  const place = usePlace();
  const { type } = place.values;
  const answer = useAnswer<MemoryStacks>(isFile ? undefined : "memory_stacks", { ...memoryQuestion(shared(place)), type, limit: ROWS });
  return isFile ? (
    <p class="soft memory-note"><Words text="Stacks are in the recording itself: `profundo view FILE` shows them, and the flame graph of this file has those of time." /></p>
  ) : (
    <Waiting answer={answer}>{(found) => <StackTable found={found} />}</Waiting>
  );
}

function StackTable({ found }: { found: MemoryStacks }) {
  const isNarrow = useNarrow();
  const [chosen, setChosen] = useState<StackRow | undefined>(undefined);
  const { function: functions, file, line } = found.places;
  const at = (number: number): At => ({ function: functions[number], file: file[number], line: line[number] });
  const short = (number: number) => `${functions[number]}${line[number] === null ? "" : `:${line[number]}`}`;
  const words = (row: StackRow) => row.stack.slice(0, NAMED).map(short).join(" ← ");
  const columns: Column<StackRow>[] = [
    // Stacks need the room that ranges would have: they stand in the bar.
    ...amounts<StackRow>(true),
    {
      title: "Stack",
      about: "The function that allocates and its line; behind each arrow its caller",
      order: words,
      cell: (row) => (
        <span class="where" title={row.stack.map((number) => placeWords(at(number))).join(" ← ")}>
          {words(row) || "[the runtime itself]"}
          {row.stack.length > NAMED && <span class="soft"> … <Figure row={{ callers_more: row.stack.length + row.deeper - NAMED }} is="callers_more" /> callers more</span>}
        </span>
      ),
    },
  ];
  return (
    <>
      <div class="beside">
        <Table
          key={String(isNarrow)}
          rows={found.stacks}
          {...forWidth(isNarrow, columns)}
          label="Stacks that allocate"
          name="memory_stacks"
          keyOf={stackKey}
          chosen={(row) => row === chosen}
          onPoint={(row) => tell(<span data-table="memory_stacks" data-row={stackKey(row)}><AmountWords row={row} words={words(row)} /></span>)}
          onChoose={(row) => setChosen(row === chosen ? undefined : row)}
        />
        {chosen !== undefined && (
          <aside class="neighbours" aria-label="The chosen stack" data-table="memory_stacks" data-row={stackKey(chosen)}>
            <h2>
              <Figure row={chosen} is="allocated_bytes" />
              <button type="button" class="plain" aria-label="Close" onClick={() => setChosen(undefined)}>
                ×
              </button>
            </h2>
            {typeof (chosen as { allocated_bytes_low?: unknown }).allocated_bytes_low === "number" && <p class="soft">95 % range: <Ends row={chosen} is="allocated_bytes" /></p>}
            <p class="soft">The innermost place comes first, and each is called by the one below it.</p>
            <ol>
              {chosen.stack.map((number, level) => (
                <li key={level}>
                  <Where at={at(number)} />
                </li>
              ))}
              {chosen.deeper > 0 && <li class="soft">… <Figure row={chosen} is="deeper" /> callers more</li>}
            </ol>
          </aside>
        )}
      </div>
      <p class="soft memory-note" data-table="memory_stacks" data-row="all">
        {found.left_out > 0 && <><Figure row={found} is="left_out" /> more stacks allocated less. </>}Click a stack to see all of it.
      </p>
    </>
  );
}

/** A stack as the key of its row. */
function stackKey(row: StackRow): string {
  return row.stack.join(" ");
}
