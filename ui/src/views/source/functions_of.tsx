// The functions of one file, beside its source: the hottest first, each a step to its first line.

import { useMemo } from "preact/hooks";

import { isAnswered, isFile, useAnswer } from "../../ask";
import { shared } from "../../parts/asked";
import { tell } from "../../parts/details";
import { Amount, Figure, functionKey, Shown } from "../../parts/figure";
import { change, link, usePlace } from "../../place";
import type { Function as FunctionRow, Functions } from "../../reports";
import { Interval, interval } from "../overview/interval";

/** Rows that are shown. */
const MOST = 60;

export function FunctionsOf({ file }: { file: string }) {
  // A file carries the functions of all files.
  const all = { ...shared(usePlace()), what: "functions", limit: 20000 };
  const question = isFile ? all : { ...all, file };
  const answer = useAnswer<Functions>(isAnswered("report", question) ? "report" : undefined, question);
  const rows = useMemo(() => {
    const found = (answer.value?.functions ?? []).filter((row) => row.file === file);
    return found.sort((a, b) => b.total_share - a.total_share || b.self_share - a.self_share);
  }, [answer.value, file]);
  if (rows.length === 0) {
    return null;
  }
  return (
    <aside class="neighbours functions-of" aria-label="Functions of this file">
      <table data-table="functions">
        <thead>
          <tr>
            <th class="number">Self</th>
            <th class="number">Total</th>
            <th>Function</th>
          </tr>
        </thead>
        <tbody>
          {rows.slice(0, MOST).map((row) => (
            <tr key={functionKey(row)} data-row={functionKey(row)} onMouseEnter={() => tell(<FunctionDetails row={row} />)}>
              <td class="number" title={interval(row)}>{row.self_share > 0 && <Figure row={row} is="self_share" />}</td>
              <td class="number"><Figure row={row} is="total_share" /></td>
              <td>
                {row.line === null ? (
                  row.function
                ) : (
                  <a href={link("source", { file, line: String(row.line) })} onClick={(event) => { event.preventDefault(); go(row); }}>
                    {row.function ?? "[unknown]"}
                  </a>
                )}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {rows.length > MOST && <p class="soft">… <Shown table="functions_of_file" shown={MOST} all={rows.length} /></p>}
    </aside>
  );
}

/** Shows the first line of a function. */
function go(row: FunctionRow): void {
  change({ file: row.file ?? "", line: String(row.line) });
}

function FunctionDetails({ row }: { row: FunctionRow }) {
  return (
    <span data-table="functions" data-row={functionKey(row)}>
      <b>{row.function ?? "[unknown]"}</b> <bdi>line {row.line}</bdi> · self <Amount row={row} prefix="self_" /> (<Figure row={row} is="self_share" />
      <Interval row={row} />) · total{" "}
      <Amount row={row} prefix="total_" /> (<Figure row={row} is="total_share" />)
    </span>
  );
}
