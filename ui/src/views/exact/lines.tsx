// Lines that were counted: the functions that they are in, and the lines of one in their source.
// Lines with code that did not run are marked.

import { useMemo, useState } from "preact/hooks";

import { useAnswer } from "../../ask";
import { base } from "../../numbers";
import { shared } from "../../parts/asked";
import { tell } from "../../parts/details";
import { InEditor, useEditor } from "../../parts/editor";
import { Figure, functionKey, Shown } from "../../parts/figure";
import { highlighted } from "../../parts/highlight";
import { ShareBar } from "../../parts/range";
import { Table, type Column } from "../../parts/table";
import { Waiting } from "../../parts/waiting";
import { change, link, usePlace } from "../../place";
import type { CountedFunction, CountedLine, CountedLines } from "../../reports";

/** Functions of an answer. */
const ROWS = 20000;

const TIME: Column<CountedFunction> = {
  title: "Time",
  about: "Of all its lines",
  order: (row) => row.seconds ?? 0,
  cell: (row) => <Figure row={row} is="seconds" />,
  isNumber: true,
  width: "6.5em",
};

const RAN: Column<CountedFunction> = {
  title: "Lines run",
  about: "Lines that were run, of all with code",
  order: (row) => missed(row),
  cell: (row) => (
    <span class={missed(row) > 0 ? "warning" : ""}>
      <Figure row={row} is="lines_run" /> of <Figure row={row} is="lines_with_code" />
    </span>
  ),
  isNumber: true,
  width: "8em",
};

const NAME: Column<CountedFunction> = {
  title: "Function",
  order: (row) => row.function,
  cell: (row) => (
    <span class="where" title={`${row.file ?? ""}:${row.line}`}>
      <b>{row.function}</b> <span class="soft">{row.file === null ? "" : `${base(row.file)}:${row.line}`}</span>
    </span>
  ),
};

/** What did not run: by this rows are ordered, so that it comes first. */
function missed(row: CountedFunction): number {
  return (row.lines_with_code ?? 0) - (row.lines_run ?? 0);
}

export function LinesOf() {
  const place = usePlace();
  const { filter, recording } = shared(place);
  const [search, setSearch] = useState("");
  const answer = useAnswer<CountedLines>("report", { filter, recording, what: "counted_lines", bare: true, limit: ROWS });
  return (
    <Waiting answer={answer}>
      {({ functions, functions_left_out }) => {
        if (functions.length === 0) {
          return <p class="soft memory-note">No line that was counted passes the filter. Lines can be chosen by process, file and function.</p>;
        }
        const wanted = search.toLowerCase();
        const isMissed = place.values.missed === "1";
        const isFound = (row: CountedFunction) => wanted === "" || `${row.function} ${row.file ?? ""}`.toLowerCase().includes(wanted);
        const rows = functions.filter((row) => isFound(row) && (!isMissed || missed(row) > 0));
        const isOnce = functions.some(({ lines_with_code }) => lines_with_code !== undefined);
        const isTimed = functions.some(({ seconds }) => seconds !== null);
        const columns = [...(isTimed ? [TIME] : []), ...(isOnce ? [RAN] : []), NAME];
        const first = [...functions].sort((a, b) => (isOnce ? missed(b) - missed(a) : (b.seconds ?? 0) - (a.seconds ?? 0)))[0];
        const chosen = functions.find((row) => row.file === place.values.file && String(row.line) === place.values.line) ?? first;
        return (
          <>
            <div class="tools">
              <label>
                Search{" "}
                <input type="search" data-search value={search} spellcheck={false} onInput={(event) => setSearch(event.currentTarget.value)} />
              </label>
              {isOnce && (
                <label>
                  <input type="checkbox" checked={isMissed} onChange={(event) => change({ missed: event.currentTarget.checked ? "1" : "" }, false)} /> only with code that did not run
                </label>
              )}
              <span class="soft">
                <Shown table="counted" shown={rows.length} all={functions.length + functions_left_out} /> functions{isOnce && "; those with most lines that did not run come first"}
              </span>
            </div>
            <div class="two">
              <Table
                rows={rows}
                columns={columns}
                label="Functions whose lines were counted"
                name="counted"
                keyOf={functionKey}
                sortedBy={columns.length > 1 ? 0 : -1}
                chosen={(row) => row === chosen}
                onPoint={(row) => tell(<FunctionWords row={row} />)}
                onChoose={(row) => change({ file: row.file ?? "", line: String(row.line) }, false)}
              />
              {chosen !== undefined && <Lines key={`${chosen.file}:${chosen.line}`} of={chosen} />}
            </div>
          </>
        );
      }}
    </Waiting>
  );
}

interface Source {
  lines: (string | null)[];
}

function Lines({ of }: { of: CountedFunction }) {
  const { filter, recording } = shared(usePlace());
  const answer = useAnswer<CountedLines>("report", { filter, recording, what: "counted_lines", file: of.file ?? "", line: of.line });
  const source = useAnswer<Source>(of.file === null ? undefined : "source", { file: of.file ?? "", recording });
  const editor = useEditor();
  const functions = answer.value?.functions ?? [];
  const found = functions.find((row) => row.function === of.function) ?? functions[0];
  const rows = useMemo(() => rowsOf(found, source.value?.lines ?? []), [found, source.value]);
  const pieces = useMemo(() => highlighted(rows.map(({ text }) => text), of.file ?? ""), [rows]);
  const most = Math.max(...(found?.lines ?? []).map((line) => line.seconds ?? 0), 1e-12);
  const mostHits = Math.max(...(found?.lines ?? []).map((line) => line.hits), 1);
  const isOnce = of.lines_with_code !== undefined;
  const isTimed = of.seconds !== null;
  return (
    <section class="listing" aria-label={`Lines of ${of.function}`}>
      <div class="tools">
        <h2>{of.function}</h2>
        {of.file !== null && (
          <a href={link("source", { file: of.file, line: String(of.line) })} title={of.file}>
            {base(of.file)}:{of.line}
          </a>
        )}
        {isOnce && missed(of) > 0 && (
          <span class="warning" data-table="counted" data-row={functionKey(of)}>
            <Figure row={of} is="lines_run" /> of <Figure row={of} is="lines_with_code" /> lines ran
          </span>
        )}
      </div>
      <Waiting answer={answer}>
        {() => (
          <div class="code" tabIndex={0} role="region" aria-label="Lines">
            <table data-table="counted_lines">
              <thead>
                <tr>
                  {isOnce ? (
                    <th>Ran</th>
                  ) : (
                    <>
                      <th class="number">Hits</th>
                      {isTimed && <th class="number">Time</th>}
                      <th />
                    </>
                  )}
                  <th class="number">Line</th>
                  <th />
                </tr>
              </thead>
              <tbody>
                {rows.map(({ number, line }, at) => (
                  <tr key={number} data-row={`${of.file ?? ""}:${number}`} class={line?.hits === 0 ? "not-run" : ""} onMouseEnter={() => line !== undefined && tell(<LineWords of={of} line={line} isOnce={isOnce} />)}>
                    {isOnce ? (
                      <td>{line === undefined ? "" : line.hits > 0 ? <span class="ran">ran</span> : <b class="warning">did not run</b>}</td>
                    ) : (
                      <>
                        <td class="number">{line !== undefined && <Figure row={line} is="hits" />}</td>
                        {isTimed && <td class="number">{line?.seconds ? <Figure row={line} is="seconds" /> : ""}</td>}
                        <td class="bars">{line !== undefined && <ShareBar share={isTimed ? (line.seconds ?? 0) : line.hits} of={isTimed ? most : mostHits} />}</td>
                      </>
                    )}
                    <td class="number line-number">
                      <InEditor to={editor} file={of.file ?? ""} line={number} isMark />
                      {of.file === null ? <span class="soft">{number}</span> : <a class="soft" href={link("source", { file: of.file, line: String(number) })} aria-label={`Line ${number}: its source`}>{number}</a>}
                    </td>
                    <td>
                      <pre>{(pieces[at] ?? []).map(({ text, is }, place) => (is === "" ? text : <span key={place} class={`is-${is}`}>{text}</span>))}</pre>
                    </td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        )}
      </Waiting>
    </section>
  );
}

interface Row {
  number: number;
  text: string | null;
  line?: CountedLine;
}

/** The lines from the first of the function to the last that was counted, with what is between. */
function rowsOf(found: CountedFunction | undefined, source: (string | null)[]): Row[] {
  if (found === undefined) {
    return [];
  }
  const counted = new Map(found.lines.map((line) => [line.line, line]));
  const last = Math.max(found.line, ...found.lines.map(({ line }) => line));
  const rows: Row[] = [];
  for (let number = Math.min(found.line, ...found.lines.map(({ line }) => line)); number <= last; number++) {
    const line = counted.get(number);
    const text = line?.text ?? source[number - 1] ?? null;
    if (line !== undefined || text !== null) {
      rows.push({ number, text, line });
    }
  }
  return rows;
}

function FunctionWords({ row }: { row: CountedFunction }) {
  return (
    <span data-table="counted" data-row={functionKey(row)}>
      <b>{row.function}</b> <bdi>{`${row.file ?? ""}:${row.line}`}</bdi>
      {row.seconds !== null && <> · <Figure row={row} is="seconds" /></>}
      {row.lines_with_code !== undefined && <> · <Figure row={row} is="lines_run" /> of <Figure row={row} is="lines_with_code" /> lines ran</>}
    </span>
  );
}

function LineWords({ of, line, isOnce }: { of: CountedFunction; line: CountedLine; isOnce: boolean }) {
  return (
    <span data-table="counted_lines" data-row={`${of.file ?? ""}:${line.line}`}>
      <b>{`${base(of.file ?? "")}:${line.line}`}</b>{" "}
      <bdi>{of.function}</bdi> · {isOnce ? (line.hits > 0 ? "it ran" : "it has code, and did not run") : <><Figure row={line} is="hits" /> hits</>}
      {line.seconds !== null && <> · <Figure row={line} is="seconds" /></>}
    </span>
  );
}
