// The rows of a listing: each line of a file with its text, and with its figures where it has any. A
// statement that stands on several lines has them on its first line. When it is open, each of its
// lines has its own.

import { highlighted, type Piece } from "../../parts/highlight";
import type { File, Line } from "../../reports";

/** The answer to `source`. */
export interface Source {
  file: string;
  state: string;
  lines: (string | null)[];
}

/** A statement of several lines. */
export interface Statement {
  first: number;
  last: number;
  isOpen: boolean;
}

export interface Row {
  number: number;
  pieces: Piece[];
  figures?: Line;
  /** The statement that the line is in, if it is one of several lines. */
  statement?: Statement;
}

/** The last line of a row's statement. */
export function lastOf(line: Line): number {
  return line.last_line ?? line.line;
}

/** The statement of several lines that a line is in. */
export function statementAt(file: File, number: number): Line | undefined {
  return file.lines.find((line) => line.line <= number && number <= lastOf(line) && lastOf(line) > line.line);
}

/** Figures by line: the sums of statements, and of those that are open what each line has by itself. */
export function withOpened<T>(sums: Map<number, T>, apart: Map<number, T> | undefined, file: File, isOpen: (first: number) => boolean): Map<number, T> {
  const opened = file.lines.filter((line) => lastOf(line) > line.line && isOpen(line.line));
  if (opened.length === 0) {
    return sums;
  }
  const all = new Map(sums);
  for (const line of opened) {
    for (let number = line.line; number <= lastOf(line); number++) {
      const own = apart?.get(number);
      if (own === undefined) {
        all.delete(number);
      } else {
        all.set(number, own);
      }
    }
  }
  return all;
}

/** The rows. `parts` are the lines by themselves, for statements that are open. */
export function rowsOf(
  file: File,
  source: Source | undefined,
  parts: File | undefined,
  isOpen: (first: number) => boolean,
  isShown: (figures: Line | undefined) => boolean,
): Row[] {
  const whole = new Map(file.lines.map((line) => [line.line, line]));
  const ofParts = new Map((parts?.lines ?? []).map((line) => [line.line, line]));
  const last = Math.max(source?.lines.length ?? 0, ...file.lines.map(lastOf));
  const texts: (string | null)[] = [];
  for (let number = 1; number <= last; number++) {
    texts.push(source?.lines[number - 1] ?? whole.get(number)?.text ?? ofParts.get(number)?.text ?? null);
  }
  const pieces = highlighted(texts, file.file);
  const rows: Row[] = [];
  let around: Line | undefined;
  for (let number = 1; number <= last; number++) {
    const begins = whole.get(number);
    around = begins ?? (around !== undefined && number <= lastOf(around) ? around : undefined);
    const isPart = around !== undefined && lastOf(around) > around.line;
    const statement = isPart && around !== undefined ? { first: around.line, last: lastOf(around), isOpen: isOpen(around.line) && parts !== undefined } : undefined;
    const figures = statement?.isOpen ? ofParts.get(number) : begins;
    if ((texts[number - 1] !== null || figures !== undefined) && isShown(statement === undefined ? figures : around)) {
      rows.push({ number, pieces: pieces[number - 1] ?? [], figures, statement });
    }
  }
  return rows;
}
