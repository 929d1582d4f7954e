// Source files by heat, and the lines of one with their bars.

import { useEffect, useRef, useState } from "preact/hooks";

import type { AboutRecording } from "../about";
import { useAnswer } from "../ask";
import { amount, base, percent } from "../numbers";
import { shared } from "../parts/asked";
import { tell } from "../parts/details";
import { KindBar } from "../parts/kinds";
import { Waiting } from "../parts/waiting";
import { change, link, usePlace } from "../place";
import type { File, Line, Lines } from "../reports";
import { interval } from "./overview";

export function SourceView(_: { recording: AboutRecording }) {
  const place = usePlace();
  const answer = useAnswer<Lines>("report", { ...shared(place), what: "lines", all_lines: true, limit: 200 });
  return (
    <Waiting answer={answer}>
      {(lines) => {
        const file = lines.files.find(({ file }) => file === place.values.file) ?? lines.files[0];
        return (
          <div class="source">
            <nav class="files" aria-label="Files">
              {lines.files.map((row) => (
                <a
                  key={row.file}
                  href={link("source", { file: row.file })}
                  aria-current={row === file ? "true" : undefined}
                  title={row.file}
                  onClick={(event) => {
                    event.preventDefault();
                    change({ file: row.file, line: "" });
                  }}
                >
                  <b data-number={row.self_share}>{percent(row.self_share)}</b> {base(row.file)}
                </a>
              ))}
              {lines.files_left_out > 0 && <span class="soft">{lines.files_left_out} more files</span>}
            </nav>
            {file === undefined ? <p class="soft">No line of source has any time here.</p> : <Listing file={file} />}
          </div>
        );
      }}
    </Waiting>
  );
}

const ABOUT_SOURCE: Record<string, string> = {
  missing: "The file is not on this machine: only the lines that were kept with the recording are shown.",
  changed: "The file has changed since the recording: the lines are those that were kept with it.",
  rewritten: "The file was rewritten while the program ran.",
  apart: "The program saw another file than the one on this machine.",
};

function Listing({ file }: { file: File }) {
  const place = usePlace();
  const [isHot, setHot] = useState(false);
  const isTotal = place.values.total === "1";
  const prefix = isTotal ? "total_" : "self_";
  const share = (line: Line) => (isTotal ? line.total_share : line.self_share);
  const most = Math.max(...file.lines.map(share), 1e-9);
  const lines = isHot ? file.lines.filter((line) => share(line) >= 0.001) : file.lines;
  const wanted = Number(place.values.line ?? 0);
  const row = useRef<HTMLTableRowElement>(null);
  useEffect(() => row.current?.scrollIntoView({ block: "center" }), [file.file, wanted]);
  return (
    <section class="listing" aria-label={file.file}>
      <div class="tools">
        <code title={file.file}>{file.file}</code>
        <label>
          <input type="checkbox" checked={isTotal} onChange={(event) => change({ total: event.currentTarget.checked ? "1" : "" }, false)} /> with
          what lines call
        </label>
        <label>
          <input type="checkbox" checked={isHot} onChange={(event) => setHot(event.currentTarget.checked)} /> hot lines only
        </label>
        {ABOUT_SOURCE[file.source] !== undefined && <span class="soft">{ABOUT_SOURCE[file.source]}</span>}
      </div>
      <div class="code" tabIndex={0} role="region" aria-label="Lines">
        <table>
          <tbody>
            {lines.map((line) => (
              <tr
                key={line.line}
                ref={line.line === wanted ? row : undefined}
                class={line.line === wanted ? "chosen" : ""}
                onMouseEnter={() => share(line) > 0 && tell(<LineDetails file={file} line={line} />)}
              >
                <td class="number" data-number={share(line)} title={interval(line)}>
                  {share(line) > 0 ? percent(share(line)) : ""}
                </td>
                <td class="number">{share(line) > 0 ? amount(line, prefix) : ""}</td>
                <td class="bars">{share(line) > 0 && <KindBar row={line} prefix={prefix} most={most} />}</td>
                <td class="number">
                  <a class="soft" href={link("source", { file: file.file, line: String(line.line) })}>
                    {line.line}
                  </a>
                </td>
                <td>
                  <pre>{line.text ?? ""}</pre>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}

function LineDetails({ file, line }: { file: File; line: Line }) {
  return (
    <>
      <b>
        {base(file.file)}:{line.line}
      </b>{" "}
      {line.function ?? ""} · self {amount(line, "self_")} ({percent(line.self_share)}, {interval(line)}) · total{" "}
      {amount(line, "total_")} ({percent(line.total_share)})
    </>
  );
}
