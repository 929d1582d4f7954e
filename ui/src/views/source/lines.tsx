// A line of a listing: its share, its kinds, what else the recording has of it, and its text.

import type { ComponentChildren } from "preact";

import { placeOf } from "../../numbers";
import type { LineColumn } from "../../parts/columns";
import { tell } from "../../parts/details";
import { InEditor, type LinkTo } from "../../parts/editor";
import { Amount, Figure } from "../../parts/figure";
import { KindBar } from "../../parts/kinds";
import type { MemoryOf } from "../../parts/memory_columns";
import { change, link } from "../../place";
import type { File, Line } from "../../reports";
import { Interval, interval } from "../overview/interval";
import { lastOf, type Row } from "./rows";

/** What all lines of a listing share. */
export interface Shown {
  file: File;
  /** The columns before the text. */
  columns: LineColumn[];
  memory: MemoryOf | undefined;
  editor: LinkTo;
  /** Whether statements can be opened. */
  canOpen: boolean;
  chosen: number;
  toggle: (first: number) => void;
}

/** The columns of a file's samples: of lines alone, or with what they call. Where memory has columns
    too, the amount is shown on demand. */
export function sampleColumns(file: File, isTotal: boolean, hasWaits: boolean, hasMemory: boolean): LineColumn[] {
  if (file.lines.length === 0) {
    return [];
  }
  const prefix = isTotal ? "total_" : "self_";
  const shareOf = (line: Line) => line[`${prefix}share`];
  // The bar of the largest share is as wide as the column.
  const most = Math.max(...file.lines.map(shareOf), 1e-9);
  const having = (cell: (figures: Line) => ComponentChildren) => (_: number, figures: Line | undefined) => figures !== undefined && shareOf(figures) > 0 && cell(figures);
  const columns: LineColumn[] = [
    {
      name: "share", title: isTotal ? "Total" : "Self", class: "number",
      cell: having((figures) => <Figure row={figures} is={`${prefix}share`} />),
      titleOf: (_, figures) => (figures !== undefined && shareOf(figures) > 0 ? interval(figures) : undefined),
    },
    { name: "amount", title: "Amount", about: "The amount of the share", class: "number extra", isMore: hasMemory, cell: having((figures) => <Amount row={figures} prefix={prefix} />) },
    { name: "kinds", title: "Kinds", class: "bars extra", cell: having((figures) => <KindBar row={figures} prefix={prefix} most={most} />) },
  ];
  if (hasWaits) {
    columns.push({
      name: "waiting", title: "Waiting", about: "The part of it that threads waited", class: "number extra",
      cell: having((figures) => waits(figures, prefix) > 0 && <Figure row={figures} is={`${prefix}waiting_share`} />),
    });
  }
  return columns;
}

export function Heads({ of }: { of: Shown }) {
  return (
    <tr>
      {of.columns.map(({ name, title, about, class: of }) => (
        <th key={name} class={of?.replace(/bars|leak/, "")} title={about}>
          {title}
        </th>
      ))}
      <th class="number">Line</th>
      <th />
    </tr>
  );
}

export function LineRow({ of, row }: { of: Shown; row: Row }) {
  const { number, pieces, figures, statement } = row;
  const { file } = of;
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
      {of.columns.map(({ name, class: of, table, cell, titleOf }) => (
        <td key={name} class={of} data-table={isPart && table !== undefined ? `${table}_parts` : table} title={titleOf?.(number, figures)}>
          {cell(number, figures)}
        </td>
      ))}
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
      <b>{`${placeOf(file.file, line.line)}${last > line.line ? `–${last}` : ""}`}</b>{" "}
      <bdi>{line.function ?? ""}</bdi> · self <Amount row={line} prefix="self_" /> (<Figure row={line} is="self_share" />
      <Interval row={line} />)
      · total <Amount row={line} prefix="total_" /> (<Figure row={line} is="total_share" />)
    </span>
  );
}
