// Source files by heat, and the whole text of one with its bars. The chosen line has its callers and
// its callees beside it.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";

import type { AboutRecording } from "../about";
import { useAnswer } from "../ask";
import { base, distinct } from "../numbers";
import { shared } from "../parts/asked";
import { tell } from "../parts/details";
import { Amount, Figure } from "../parts/figure";
import { highlighted, type Piece } from "../parts/highlight";
import { KindBar } from "../parts/kinds";
import { MemoryCells, MemoryHeads, useMemoryOf } from "../parts/memory_columns";
import { Neighbours } from "../parts/neighbours";
import { Waiting } from "../parts/waiting";
import { change, link, usePlace } from "../place";
import type { File, Line, Lines } from "../reports";
import { ExactView } from "./exact";
import { Interval, interval } from "./overview";

interface Source {
  file: string;
  state: string;
  lines: (string | null)[];
}

export function SourceView({ recording }: { recording: AboutRecording }) {
  const place = usePlace();
  const answer = useAnswer<Lines>("report", {
    ...shared(place),
    what: "lines",
    all_lines: true,
    limit: 500,
    min_share: 0,
    total: recording.has.cells,
    libraries: place.values.libraries,
  });
  // Where lines were counted, the report of lines is their counts.
  if (answer.value !== undefined && answer.value.profundo.report !== "lines") {
    return <ExactView recording={recording} />;
  }
  return (
    <Waiting answer={answer}>
      {(lines) => {
        const file = lines.files.find(({ file }) => file === place.values.file) ?? lines.files[0];
        const names = distinct(lines.files.map(({ file }) => file));
        return (
          <div class="source">
            <nav class="files" aria-label="Files" data-table="files">
              <label>
                <input
                  type="checkbox"
                  checked={place.values.libraries === "shown"}
                  onChange={(event) => change({ libraries: event.currentTarget.checked ? "shown" : "" })}
                />{" "}
                libraries too
              </label>
              {lines.files.map((row) => (
                <a
                  key={row.file}
                  data-row={row.file}
                  href={link("source", { file: row.file })}
                  aria-current={row === file ? "true" : undefined}
                  title={row.file}
                  onClick={(event) => {
                    event.preventDefault();
                    change({ file: row.file, line: "" });
                  }}
                >
                  <b><Figure row={row} is="self_share" /></b> {names.get(row.file)}
                </a>
              ))}
              {lines.files_left_out > 0 && <span class="soft" data-row="all"><Figure row={lines} is="files_left_out" /> files without a hot line</span>}
            </nav>
            {file === undefined ? <p class="soft">No line of source has any time here.</p> : <Listing key={file.file} file={file} recording={recording} />}
          </div>
        );
      }}
    </Waiting>
  );
}

const ABOUT_SOURCE: Record<string, string> = {
  missing: "The file is not on this machine: only lines that were kept with the recording have text.",
  changed: "The file has changed since the recording: the text is what was kept with it.",
  rewritten: "The file was rewritten while the program ran.",
  apart: "The program ran another file of this name.",
};

/** A row of the listing: a line, a gap without known lines, or both its text and its figures. */
interface Row {
  number: number;
  pieces: Piece[];
  figures?: Line;
}

function rowsOf(file: File, source: Source | undefined, isHot: boolean, share: (line: Line) => number): Row[] {
  const figures = new Map(file.lines.map((line) => [line.line, line]));
  const last = Math.max(source?.lines.length ?? 0, ...file.lines.map((line) => line.line));
  const texts: (string | null)[] = [];
  for (let number = 1; number <= last; number++) {
    texts.push(source?.lines[number - 1] ?? figures.get(number)?.text ?? null);
  }
  const pieces = highlighted(texts, file.file);
  const rows: Row[] = [];
  for (let number = 1; number <= last; number++) {
    const line = figures.get(number);
    const isShown = isHot ? line !== undefined && share(line) >= 0.001 : texts[number - 1] !== null || line !== undefined;
    if (isShown) {
      rows.push({ number, pieces: pieces[number - 1] ?? [], figures: line });
    }
  }
  return rows;
}

function Listing({ file, recording }: { file: File; recording: AboutRecording }) {
  const place = usePlace();
  const source = useAnswer<Source>("source", { file: file.file, recording: place.values.recording });
  const memory = useMemoryOf(recording, file.file);
  const [isHot, setHot] = useState(false);
  const isTotal = place.values.total === "1";
  const prefix = isTotal ? "total_" : "self_";
  const share = (line: Line) => (isTotal ? line.total_share : line.self_share);
  const most = Math.max(...file.lines.map(share), 1e-9);
  const rows = useMemo(() => rowsOf(file, source.value, isHot, share), [file, source.value, isHot, isTotal]);
  const hottest = useMemo(() => [...file.lines].sort((a, b) => share(b) - share(a))[0]?.line ?? 0, [file, isTotal]);
  const chosen = Number(place.values.line ?? 0);
  const wanted = chosen || hottest;
  const row = useRef<HTMLTableRowElement>(null);
  const isReady = source.value !== undefined || source.error !== undefined;
  useEffect(() => row.current?.scrollIntoView({ block: "center" }), [isReady]);
  const line = file.lines.find(({ line }) => line === chosen);
  return (
    <section class="listing" aria-label={file.file}>
      <div class="tools">
        <code title={file.file}>{file.file}</code>
        <label>
          <input
            type="checkbox"
            checked={isTotal}
            onChange={(event) => change({ total: event.currentTarget.checked ? "1" : "" }, false)}
          />{" "}
          with what lines call
        </label>
        <label>
          <input type="checkbox" checked={isHot} onChange={(event) => setHot(event.currentTarget.checked)} /> hot lines only
        </label>
        {ABOUT_SOURCE[source.value?.state ?? "found"] !== undefined && (
          <span class="soft">{ABOUT_SOURCE[source.value?.state ?? "found"]}</span>
        )}
      </div>
      <div class="beside">
        <div class="code" tabIndex={0} role="region" aria-label="Lines">
          <table data-table="lines">
            <thead>
              <tr>
                <th class="number">{isTotal ? "Total" : "Self"}</th>
                <th class="number extra" />
                <th class="extra">Kinds</th>
                <MemoryHeads memory={memory} />
                <th class="number">Line</th>
                <th />
              </tr>
            </thead>
            <tbody>
              {rows.map(({ number, pieces, figures }) => (
                <tr
                  key={number}
                  data-row={`${file.file}:${number}`}
                  ref={number === wanted ? row : undefined}
                  class={number === chosen ? "chosen" : ""}
                  onMouseEnter={() => figures !== undefined && tell(<LineDetails file={file} line={figures} />)}
                  onClick={() => figures !== undefined && change({ file: file.file, line: String(number) }, false)}
                >
                  {figures !== undefined && share(figures) > 0 ? (
                    <>
                      <td class="number" title={interval(figures)}>
                        <Figure row={figures} is={`${prefix}share`} />
                      </td>
                      <td class="number extra">
                        <Amount row={figures} prefix={prefix} />
                      </td>
                      <td class="bars extra">
                        <KindBar row={figures} prefix={prefix} most={most} />
                      </td>
                    </>
                  ) : (
                    <>
                      <td />
                      <td class="extra" />
                      <td class="bars extra" />
                    </>
                  )}
                  <MemoryCells memory={memory} line={number} />
                  <td class="number">
                    <a class="soft" href={link("source", { file: file.file, line: String(number) })} aria-label={`Line ${number}`}>
                      {number}
                    </a>
                  </td>
                  <td>
                    <pre>
                      {pieces.map(({ text, is }, at) => (is === "" ? text : <span key={at} class={`is-${is}`}>{text}</span>))}
                    </pre>
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
        {line?.function != null && <Neighbours name={line.function} file={file.file} line={line.line} onClose={() => change({ line: "" }, false)} />}
      </div>
    </section>
  );
}

function LineDetails({ file, line }: { file: File; line: Line }) {
  return (
    <span data-table="lines" data-row={`${file.file}:${line.line}`}>
      <b>{`${base(file.file)}:${line.line}`}</b>{" "}
      <bdi>{line.function ?? ""}</bdi> · self <Amount row={line} prefix="self_" /> (<Figure row={line} is="self_share" />
      <Interval row={line} />)
      · total <Amount row={line} prefix="total_" /> (<Figure row={line} is="total_share" />)
    </span>
  );
}
