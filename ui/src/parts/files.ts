// What is looked at, as a file on the reader's disk.

import { textOf, type Values } from "../ask";

/** Has the browser save bytes. */
export function save(bytes: Blob, name: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(bytes);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

/** The bytes of an answer that is no JSON. */
export async function bytesOf(name: string, values: Values): Promise<Blob> {
  const response = await fetch(`api/${textOf(name, values)}`);
  if (!response.ok) {
    throw new Error(await response.text());
  }
  return response.blob();
}

/** Rows as CSV. A cell that begins like a formula is text for a spreadsheet too. */
export function csv(rows: (string | number | null | undefined)[][]): Blob {
  const cell = (value: string | number | null | undefined) => {
    const text = typeof value === "string" && /^[=+\-@\t]/.test(value) ? `'${value}` : String(value ?? "");
    return /[",\n\r]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text;
  };
  return new Blob([rows.map((row) => row.map(cell).join(",")).join("\r\n"), "\r\n"], { type: "text/csv" });
}
