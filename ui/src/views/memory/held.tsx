// Who held the memory at the chosen moment.

import { isFile, useAnswer } from "../../ask";
import { bytes, count, duration, percent } from "../../numbers";
import { shared } from "../../parts/asked";
import { tell } from "../../parts/details";
import { forWidth, useNarrow } from "../../parts/narrow";
import { range, ShareBar } from "../../parts/range";
import { Table, type Column } from "../../parts/table";
import { Waiting } from "../../parts/waiting";
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
  { title: "Held", order: (row) => row.bytes, cell: (row) => <span data-number={row.bytes}>{bytes(row.bytes)}</span>, isNumber: true, width: "7em" },
  { title: "Range", about: "It holds the true value 95 times in 100; none where it is exact", cell: (row) => <span class="soft">{range(row, "bytes")}</span>, width: "11em" },
  { title: "Share", order: (row) => row.share, cell: (row) => percent(row.share), isNumber: true, width: "5.5em" },
  { title: "", cell: (row) => <ShareBar share={row.share} of={most} />, width: "6em" },
  { title: "Blocks", order: (row) => row.blocks, cell: (row) => count(row.blocks), isNumber: true, width: "6.5em" },
  { title: isFunction ? "Function" : "Line", order: placeWords, cell: (row) => <Where at={row} isFunction={isFunction} /> },
];

export function HeldThen() {
  const isNarrow = useNarrow();
  const place = usePlace();
  const { at } = place.values;
  const isFunction = place.values.by === "function";
  const answer = useAnswer<Held>(at === undefined || isFile ? undefined : "held", { ...memoryQuestion(shared(place)), at, limit: 500 });
  if (isFile) {
    return <p class="soft memory-note">Any moment can be looked at in the recording itself: `profundo view FILE` opens it.</p>;
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
              <h2>
                At {duration(held.at_seconds)}: {bytes(held.total.bytes)} in {count(held.total.blocks)} blocks
              </h2>
              {range(held.total, "bytes") !== "" && <span class="soft">({range(held.total, "bytes")})</span>}
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
                onPoint={(row) =>
                  tell(
                    <>
                      <b>{placeWords(row)}</b> {row.file ?? ""} · held {bytes(row.bytes)} {range(row, "bytes") && `(${range(row, "bytes")})`} in{" "}
                      {count(row.blocks)} blocks · {percent(row.share)}
                    </>,
                  )
                }
              />
            )}
            {leftOut > 0 && <p class="soft memory-note">{count(leftOut)} more rows held less.</p>}
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
