// Who held the memory at the chosen moment.

import { isFile, useAnswer } from "../../ask";
import { shared } from "../../parts/asked";
import { tell } from "../../parts/details";
import { Ends, Figure, functionKey } from "../../parts/figure";
import { forWidth, useNarrow } from "../../parts/narrow";
import { ShareBar } from "../../parts/range";
import { Table, type Column } from "../../parts/table";
import { Waiting } from "../../parts/waiting";
import { Words } from "../../parts/words";
import { placeWords, Where } from "../../parts/where";
import { change, show, usePlace } from "../../place";
import { memoryQuestion } from ".";

interface Held {
  at_seconds: number;
  total: HeldRow;
  lines: HeldRow[];
  lines_left_out: number;
  functions: HeldRow[];
  functions_left_out: number;
}

interface HeldRow {
  function: string | null;
  file: string | null;
  line: number | null;
  bytes: number;
  bytes_low: number | null;
  bytes_high: number | null;
  blocks: number;
  share: number;
}

const columns = (isFunction: boolean, most: number): Column<HeldRow>[] => [
  { title: "Held", order: (row) => row.bytes, cell: (row) => <Figure row={row} is="bytes" />, isNumber: true, width: "7em" },
  { title: "Range", about: "It holds the true value 95 times in 100; none where it is exact", cell: (row) => <span class="soft"><Ends row={row} is="bytes" /></span>, width: "11em" },
  { title: "Share", order: (row) => row.share, cell: (row) => <Figure row={row} is="share" />, isNumber: true, width: "5.5em" },
  { title: "", cell: (row) => <ShareBar share={row.share} of={most} />, width: "6em" },
  { title: "Blocks", order: (row) => row.blocks, cell: (row) => <Figure row={row} is="blocks" />, isNumber: true, width: "6.5em" },
  { title: isFunction ? "Function" : "Line", order: placeWords, cell: (row) => <Where at={row} isFunction={isFunction} /> },
];

export function HeldThen() {
  const isNarrow = useNarrow();
  const place = usePlace();
  const { at } = place.values;
  const isFunction = place.values.by === "function";
  const answer = useAnswer<Held>(at === undefined || isFile ? undefined : "held", { ...memoryQuestion(shared(place)), at, limit: 500 });
  if (isFile) {
    return <p class="soft memory-note"><Words text="Any moment can be looked at in the recording itself: `profundo view FILE` opens it." /></p>;
  }
  if (at === undefined) {
    return (
      <div class="tools">
        <Moment />
        <span class="soft">Choose a moment: here, or on the curves above by a click, or by the arrow keys and Enter.</span>
      </div>
    );
  }
  return (
    <Waiting answer={answer}>
      {(held) => {
        const rows = isFunction ? held.functions : held.lines;
        const leftOut = isFunction ? held.functions_left_out : held.lines_left_out;
        return (
          <>
            <div class="tools">
              <h2 data-table="held" data-row="all">
                <span>
                  At <Figure row={held} is="at_seconds" />: <Figure row={held} is="total.bytes" /> in <Figure row={held} is="total.blocks" /> blocks
                </span>
              </h2>
              {held.total.bytes_low !== null && <span class="soft" data-table="held" data-row="all">(<Ends row={held} is="total.bytes" />)</span>}
              <Moment at={at} />
              <label>
                by{" "}
                <select value={isFunction ? "function" : "line"} onChange={(event) => change({ by: event.currentTarget.value === "function" ? "function" : "" }, false)}>
                  <option value="line">line</option>
                  <option value="function">function</option>
                </select>
              </label>
              <button type="button" onClick={() => show("flame", { of: "live", at })}>
                Flame graph of this moment
              </button>
            </div>
            {rows.length === 0 ? (
              <p class="soft memory-note">Nothing that was recorded was held then.</p>
            ) : (
              <Table
                key={`${isFunction}${isNarrow}`}
                rows={rows}
                {...forWidth(isNarrow, columns(isFunction, Math.max(...rows.map(({ share }) => share))))}
                label="Who held memory at this moment"
                name={isFunction ? "held_functions" : "held_lines"}
                keyOf={functionKey}
                onPoint={(row) =>
                  tell(
                    <span data-table={isFunction ? "held_functions" : "held_lines"} data-row={functionKey(row)}>
                      <b>{placeWords(row)}</b> <bdi>{row.file ?? ""}</bdi> · held <Figure row={row} is="bytes" />
                      {row.bytes_low !== null && <> (<Ends row={row} is="bytes" />)</>} in <Figure row={row} is="blocks" /> blocks · <Figure row={row} is="share" />
                    </span>,
                  )
                }
              />
            )}
            {leftOut > 0 && <p class="soft memory-note" data-table="held" data-row="all"><Figure row={held} is={isFunction ? "functions_left_out" : "lines_left_out"} /> more rows held less.</p>}
          </>
        );
      }}
    </Waiting>
  );
}

/** The moment, to be typed. */
function Moment({ at }: { at?: string }) {
  return (
    <label>
      at{" "}
      <input
        class="moment"
        type="number"
        min="0"
        step="any"
        key={at}
        defaultValue={at}
        onChange={(event) => event.currentTarget.value !== "" && change({ at: event.currentTarget.value })}
      />{" "}
      s
    </label>
  );
}
