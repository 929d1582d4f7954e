// The stacks that allocate: a row for each, named by its innermost places. The chosen one is shown
// whole beside the table.

import { useState } from "preact/hooks";

import { isFile, useAnswer } from "../../ask";
import { count } from "../../numbers";
import { shared } from "../../parts/asked";
import { tell } from "../../parts/details";
import { Ends, Figure } from "../../parts/figure";
import { forWidth, useNarrow } from "../../parts/narrow";
import { Table, type Column } from "../../parts/table";
import { Waiting } from "../../parts/waiting";
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

export function Stacks({ isExact }: { isExact: boolean }) {
  const place = usePlace();
  const { type } = place.values;
  const answer = useAnswer<MemoryStacks>(isFile ? undefined : "memory_stacks", { ...memoryQuestion(shared(place)), type, limit: ROWS });
  return isFile ? (
    <p class="soft memory-note">Stacks are in the recording itself: `profundo view FILE` shows them, and the flame graph of this file has those of time.</p>
  ) : (
    <Waiting answer={answer}>{(found) => <StackTable found={found} isExact={isExact} />}</Waiting>
  );
}

function StackTable({ found, isExact }: { found: MemoryStacks; isExact: boolean }) {
  const isNarrow = useNarrow();
  const [chosen, setChosen] = useState<StackRow | undefined>(undefined);
  const { function: functions, file, line } = found.places;
  const at = (number: number): At => ({ function: functions[number], file: file[number], line: line[number] });
  const words = (row: StackRow) => row.stack.slice(0, NAMED).map((number) => placeWords(at(number))).join(" ← ");
  const columns: Column<StackRow>[] = [
    ...amounts<StackRow>(isExact),
    {
      title: "Stack",
      about: "The innermost place, and behind each arrow its caller",
      order: words,
      cell: (row) => (
        <span class="where" title={row.stack.map((number) => placeWords(at(number))).join(" ← ")}>
          {words(row) || "[the runtime itself]"}
          {row.stack.length > NAMED && <span class="soft"> … {count(row.stack.length + row.deeper - NAMED)} callers more</span>}
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
          keyOf={(row) => row.stack.join(" ")}
          chosen={(row) => row === chosen}
          onPoint={(row) => tell(<span data-table="memory_stacks" data-row={row.stack.join(" ")}><AmountWords row={row} words={words(row)} /></span>)}
          onChoose={(row) => setChosen(row === chosen ? undefined : row)}
        />
        {chosen !== undefined && (
          <aside class="neighbours" aria-label="The chosen stack" data-table="memory_stacks" data-row={chosen.stack.join(" ")}>
            <h2>
              <Figure row={chosen} is="allocated_bytes" />
              <button type="button" class="plain" aria-label="Close" onClick={() => setChosen(undefined)}>
                ×
              </button>
            </h2>
            {!isExact && <p class="soft">95 % range: <Ends row={chosen} is="allocated_bytes" /></p>}
            <p class="soft">The innermost place comes first, and each is called by the one below it.</p>
            <ol>
              {chosen.stack.map((number, level) => (
                <li key={level}>
                  <Where at={at(number)} />
                </li>
              ))}
              {chosen.deeper > 0 && <li class="soft">… {count(chosen.deeper)} callers more</li>}
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
