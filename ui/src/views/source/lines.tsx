// A line of a listing: its share, its kinds, what else the recording has of it, and its text.

import { base } from "../../numbers";
import { tell } from "../../parts/details";
import { InEditor, type LinkTo } from "../../parts/editor";
import { Amount, Figure } from "../../parts/figure";
import { KindBar } from "../../parts/kinds";
import { MemoryCells, MemoryHeads, type MemoryOf } from "../../parts/memory_columns";
import { change, link } from "../../place";
import type { File, Line } from "../../reports";
import { Interval, interval } from "../overview/interval";
import { lastOf, type Row } from "./rows";
import { TrafficCells, TrafficHeads, type TrafficOf } from "./traffic";

/** What all lines of a listing share. */
export interface Shown {
  file: File;
  /** The largest share: its bar is as wide as the column. */
  most: number;
  isTotal: boolean;
  hasWaits: boolean;
  /** False for a file of which no line has a sample. */
  hasShares: boolean;
  memory: MemoryOf | undefined;
  traffic: TrafficOf | undefined;
  editor: LinkTo;
  /** Whether statements can be opened. */
  canOpen: boolean;
  chosen: number;
  toggle: (first: number) => void;
}

export function Heads({ of }: { of: Shown }) {
  return (
    <tr>
      {of.hasShares && (
        <>
          <th class="number">{of.isTotal ? "Total" : "Self"}</th>
          <th class="number extra" />
          <th class="extra">Kinds</th>
        </>
      )}
      {of.hasWaits && <th class="number extra" title="The part of it that threads waited">Waiting</th>}
      <TrafficHeads traffic={of.traffic} />
      <MemoryHeads memory={of.memory} />
      <th class="number">Line</th>
      <th />
    </tr>
  );
}

export function LineRow({ of, row }: { of: Shown; row: Row }) {
  const { number, pieces, figures, statement } = row;
  const { file, isTotal } = of;
  const prefix = isTotal ? "total_" : "self_";
  const share = figures === undefined ? 0 : isTotal ? figures.total_share : figures.self_share;
  const isPart = statement?.isOpen === true;
  const isNotRun = of.memory?.lines.get(number)?.counted?.hits === 0;
  const choose = () => change({ file: file.file, line: String(number) }, false);
  return (
    <tr
      data-row={`${file.file}:${number}`}
      data-table={isPart ? "parts" : undefined}
      class={[number === of.chosen ? "chosen" : "", statement !== undefined ? "in-statement" : "", isPart ? "open" : "", isNotRun ? "not-run" : ""].filter((name) => name !== "").join(" ")}
      onMouseEnter={() => figures !== undefined && tell(<LineDetails file={file} line={figures} isPart={isPart} />)}
      onClick={() => (figures !== undefined || statement !== undefined) && choose()}
    >
      {!of.hasShares ? null : figures !== undefined && share > 0 ? (
        <>
          <td class="number" title={interval(figures)}>
            <Figure row={figures} is={`${prefix}share`} />
          </td>
          <td class="number extra">
            <Amount row={figures} prefix={prefix} />
          </td>
          <td class="bars extra">
            <KindBar row={figures} prefix={prefix} most={of.most} />
          </td>
          {of.hasWaits && <td class="number extra">{waits(figures, prefix) > 0 && <Figure row={figures} is={`${prefix}waiting_share`} />}</td>}
        </>
      ) : (
        <>
          <td />
          <td class="extra" />
          <td class="bars extra" />
          {of.hasWaits && <td class="extra" />}
        </>
      )}
      <TrafficCells traffic={of.traffic} line={number} />
      <MemoryCells memory={of.memory} line={number} />
      <td class="number line-number">
        {statement?.first === number && of.canOpen && (
          <button
            type="button"
            class="plain twist"
            aria-expanded={statement.isOpen}
            aria-label={`Lines ${statement.first} to ${statement.last}: one statement`}
            title={statement.isOpen ? "Show the statement as one" : "Show each line of the statement by itself"}
            onClick={(event) => {
              event.stopPropagation();
              of.toggle(statement.first);
            }}
          >
            {statement.isOpen ? "▾" : "▸"}
          </button>
        )}
        <InEditor to={of.editor} file={file.file} line={number} isMark />
        <a class="soft" href={link("source", { file: file.file, line: String(number) })} aria-label={`Line ${number}`} title="The address of this line">
          {number}
        </a>
      </td>
      <td>
        <pre>{pieces.map(({ text, is }, at) => (is === "" ? text : <span key={at} class={`is-${is}`}>{text}</span>))}</pre>
      </td>
    </tr>
  );
}

function waits(line: Line, prefix: "self_" | "total_"): number {
  return line[`${prefix}waiting_share`] ?? 0;
}

function LineDetails({ file, line, isPart }: { file: File; line: Line; isPart: boolean }) {
  const last = lastOf(line);
  return (
    <span data-table={isPart ? "parts" : "lines"} data-row={`${file.file}:${line.line}`}>
      <b>{`${base(file.file)}:${line.line}${last > line.line ? `–${last}` : ""}`}</b>{" "}
      <bdi>{line.function ?? ""}</bdi> · self <Amount row={line} prefix="self_" /> (<Figure row={line} is="self_share" />
      <Interval row={line} />)
      · total <Amount row={line} prefix="total_" /> (<Figure row={line} is="total_share" />)
    </span>
  );
}
