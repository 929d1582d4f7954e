// The listing of one file: its tools, its lines, and what stands beside them.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";

import type { AboutRecording } from "../../about";
import { isAnswered, isFile, useAnswer } from "../../ask";
import { base, isNamed } from "../../numbers";
import { shared } from "../../parts/asked";
import { ColumnChoice, useColumns } from "../../parts/columns";
import { InEditor, useEditor } from "../../parts/editor";
import { memoryColumns, useMemoryOf } from "../../parts/memory_columns";
import { Neighbours } from "../../parts/neighbours";
import { useSeen } from "../../parts/seen";
import { change, link, usePlace } from "../../place";
import type { File, Line, Lines } from "../../reports";
import { Heads, LineRow, sampleColumns, type Shown } from "./lines";
import { rowsOf, statementAt, withOpened, type Source } from "./rows";
import { trafficColumns, useTrafficOf } from "./traffic";

/** A line below this share is not hot. */
const HOT = 0.001;

const ABOUT_SOURCE: Record<string, string> = {
  missing: "The file is not on this machine: only lines that were kept with the recording have text.",
  changed: "The file has changed since the recording: the text is what was kept with it.",
  rewritten: "The file was rewritten while the program ran.",
  apart: "The program ran another file of this name.",
};

export function Listing({ file, recording }: { file: File; recording: AboutRecording }) {
  const place = usePlace();
  const source = useAnswer<Source>("source", { file: file.file, recording: place.values.recording });
  const editor = useEditor();
  const [opened, setOpened] = useState<Set<number>>(new Set());
  const chosen = Number(place.values.line ?? 0);
  const statement = statementAt(file, chosen);
  const isInside = statement !== undefined && chosen > statement.line;
  const { parts, canOpen } = useParts(file, opened.size > 0 || statement !== undefined, place.values.libraries, recording.has.cells);
  const isOpen = (first: number) => opened.has(first) || (isInside && first === statement.line);
  const isAnyOpen = opened.size > 0 || isInside;
  const [memorySums, memoryApart] = [useMemoryOf(recording, file.file), useMemoryOf(recording, file.file, false, isAnyOpen)];
  const [trafficSums, trafficApart] = [useTrafficOf(recording, file.file), useTrafficOf(recording, file.file, false, isAnyOpen)];
  const memory = useMemo(
    () => memorySums && { ...memorySums, lines: withOpened(memorySums.lines, memoryApart?.lines, file, isOpen) },
    [memorySums, memoryApart, file, opened, isInside ? statement?.line : 0],
  );
  const traffic = useMemo(
    () => trafficSums && withOpened(trafficSums, trafficApart, file, isOpen),
    [trafficSums, trafficApart, file, opened, isInside ? statement?.line : 0],
  );
  const isHot = place.values.hot === "1";
  const isTotal = place.values.total === "1";
  const share = (line: Line) => (isTotal ? line.total_share : line.self_share);
  const hasWaits = recording.has.waits && file.lines.some((line) => (line.total_waiting_share ?? 0) > 0);
  const columns = useMemo(
    () => [...sampleColumns(file, isTotal, hasWaits, memory?.hasMemory === true), ...trafficColumns(traffic), ...memoryColumns(memory)],
    [file, isTotal, hasWaits, traffic, memory],
  );
  const shownColumns = useColumns(columns);
  const rows = useMemo(
    () => rowsOf(file, source.value, parts, isOpen, (line) => !isHot || (line !== undefined && share(line) >= HOT)),
    [file, source.value, parts, opened, isInside ? statement?.line : 0, isHot, isTotal],
  );
  const hottest = useMemo(() => [...file.lines].sort((a, b) => share(b) - share(a))[0]?.line ?? 0, [file, isTotal]);
  const wanted = chosen || hottest;
  const box = useRef<HTMLDivElement>(null);
  const isReady = source.value !== undefined || source.error !== undefined;
  const seen = useSeen(box, rows.length, HEIGHT);
  const showLine = (number: number) => {
    const at = rows.findIndex((row) => row.number >= number);
    const element = box.current;
    if (at >= 0 && element !== null) {
      element.scrollTop = at * HEIGHT - element.clientHeight / 2;
      // On a phone the whole page scrolls.
      requestAnimationFrame(() => element.querySelector(`tr[data-row="${CSS.escape(`${file.file}:${number}`)}"]`)?.scrollIntoView({ block: "nearest" }));
    }
  };
  useEffect(() => showLine(wanted), [isReady]);
  // What is chosen elsewhere, as in the table of functions, comes into sight.
  useEffect(() => {
    const rect = box.current?.querySelector("tr.chosen")?.getBoundingClientRect();
    const around = box.current?.getBoundingClientRect();
    if (chosen > 0 && around !== undefined && (rect === undefined || rect.top < around.top || rect.bottom > around.bottom)) {
      showLine(chosen);
    }
  }, [chosen]);
  const toggle = (first: number) =>
    setOpened((old) => {
      const next = new Set(old);
      if (!next.delete(first)) {
        next.add(first);
      }
      return next;
    });
  // Samples name lines: a statement's callers are those of its line with most time.
  const inside = statement === undefined ? [] : (parts?.lines ?? []).filter(({ line }) => statement.line <= line && line <= (statement.last_line ?? 0));
  const hottestInside = [...inside].sort((a, b) => b.total_share - a.total_share)[0];
  const own = inside.find(({ line }) => line === chosen);
  const ofStatement = canOpen ? (isInside ? (own ?? hottestInside) : hottestInside) : statement;
  const asked = statement === undefined ? file.lines.find(({ line }) => line === chosen) : ofStatement;
  const shown: Shown = { file, columns: shownColumns, memory, editor, canOpen, chosen, toggle };
  // Code of a notebook's cell is not in a file, and has no other text than what was kept.
  const about = isNamed(file.file) ? undefined : ABOUT_SOURCE[source.value?.state ?? "found"];
  return (
    <section class="listing" aria-label={file.file}>
      <div class="tools">
        <code title={file.file}>
          <InEditor to={editor} file={file.file} line={chosen || undefined}>
            {isNamed(file.file) ? base(file.file) : file.file}
          </InEditor>
        </code>
        <label>
          <input type="checkbox" checked={isTotal} onChange={(event) => change({ total: event.currentTarget.checked ? "1" : "" }, false)} /> with what lines call
        </label>
        <label>
          <input type="checkbox" checked={isHot} onChange={(event) => change({ hot: event.currentTarget.checked ? "1" : "" }, false)} /> hot lines only
        </label>
        {asked?.function != null && file.language === "native" && !isFile && (
          <a href={link("assembly", { name: asked.function })}>instructions of {asked.function}</a>
        )}
        <ColumnChoice columns={columns} shown={shownColumns} />
        {about !== undefined && <span class="soft">{about}</span>}
      </div>
      <div class={memory?.hasMemory ? "beside stacked" : "beside"}>
        <div class="code" ref={box} tabIndex={0} role="region" aria-label="Lines" onScroll={seen.onScroll}>
          <table data-table="lines">
            <thead>
              <Heads of={shown} />
            </thead>
            <tbody>
              <Gap rows={seen.first} />
              {rows.slice(seen.first, seen.last).map((one) => (
                <LineRow key={one.number} of={shown} row={one} />
              ))}
              <Gap rows={rows.length - seen.last} />
            </tbody>
          </table>
        </div>
        {asked?.function != null && <Neighbours name={asked.function} file={file.file} line={asked.line} onClose={() => change({ line: "" }, false)} />}
      </div>
    </section>
  );
}

/** The height of a row. */
const HEIGHT = 19;

function Gap({ rows }: { rows: number }) {
  return rows <= 0 ? null : (
    <tr class="gap" aria-hidden="true">
      <td style={{ height: `${rows * HEIGHT}px` }} />
    </tr>
  );
}

/** The lines of a file by themselves, for statements that are opened. A page that is a file has none. */
function useParts(file: File, isWanted: boolean, libraries: string | undefined, total: boolean): { parts: File | undefined; canOpen: boolean } {
  const question = { ...shared(usePlace()), what: "lines", all_lines: true, limit: 500, min_share: 0, sampled: true, total, libraries };
  const canOpen = isAnswered("report", question);
  const answer = useAnswer<Lines>(canOpen && isWanted ? "report" : undefined, question);
  return { parts: isWanted ? answer.value?.files.find((one) => one.file === file.file) : undefined, canOpen };
}
