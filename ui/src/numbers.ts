// Numbers as the reports print them. Nothing is computed here: each number comes with an answer.

const threeDigits = (value: number) =>
  value.toFixed(value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2);

/** A share in percent. */
export function percent(share: number | null | undefined): string {
  if (share === null || share === undefined) {
    return "";
  }
  const value = share * 100;
  return value <= 0 ? "0 %" : value < 0.05 ? "<0.1 %" : `${value.toFixed(1)} %`;
}

/** Seconds in the unit that suits them. */
export function duration(seconds: number): string {
  const sign = seconds < 0 ? "−" : "";
  const size = Math.abs(seconds);
  if (size === 0) {
    return "0 s";
  }
  if (size < 0.9995e-6) {
    return `${sign}${Math.round(size * 1e9)} ns`;
  }
  if (size < 0.9995e-3) {
    return `${sign}${threeDigits(size * 1e6)} µs`;
  }
  if (size < 0.9995) {
    return `${sign}${threeDigits(size * 1e3)} ms`;
  }
  const whole = Math.round(size);
  if (whole < 60) {
    return `${sign}${threeDigits(size)} s`;
  }
  const two = (n: number) => String(n).padStart(2, "0");
  if (whole < 3600) {
    return `${sign}${Math.floor(whole / 60)} min ${two(whole % 60)} s`;
  }
  const minutes = Math.round(whole / 60);
  return `${sign}${Math.floor(minutes / 60)} h ${two(minutes % 60)} min`;
}

/** Bytes in the unit that suits them. */
export function bytes(number: number): string {
  const sign = number < 0 ? "−" : "";
  let size = Math.abs(number);
  if (size < 1000) {
    return `${sign}${Math.round(size)} B`;
  }
  const units = ["kB", "MB", "GB", "TB", "PB", "EB"];
  let unit = -1;
  do {
    size /= 1000;
    unit += 1;
  } while (size >= 999.5 && unit < units.length - 1);
  return `${sign}${threeDigits(size)} ${units[unit]}`;
}

/** A whole number, its thousands apart. */
export function count(number: number): string {
  return Math.round(number)
    .toString()
    .replace(/\B(?=(\d{3})+(?!\d))/g, "\u202f");
}

/** A weight of a flame graph: nanoseconds, events, bytes or blocks. */
export function weight(value: number, unit: string): string {
  switch (unit) {
    case "bytes":
      return bytes(value);
    case "blocks":
    case "events":
      return count(value);
    default:
      return duration(value / 1e9);
  }
}

/** Files that have another name than their path: cells of a notebook. */
const named = new Map<string, string>();

/** Names a file for all of the page. */
export function nameFile(path: string, name: string): void {
  named.set(path, name);
}

/** Whether a file has another name than its path. */
export function isNamed(path: string): boolean {
  return named.has(path);
}

/** The last part of a path; of a notebook's cell, its name. */
export function base(path: string): string {
  return named.get(path) ?? path.slice(path.lastIndexOf("/") + 1);
}

/** A line of a file, or the file where no line is known. */
export function placeOf(file: string | null, line: number | null): string {
  return file === null ? "" : line === null || line === 0 ? base(file) : `${base(file)}:${line}`;
}

/** The names of files, with folders where several have the same last part. */
export function distinct(files: string[]): Map<string, string> {
  const names = new Map(files.map((file) => [file, base(file)]));
  for (let folders = 1; folders < 8; folders++) {
    const times = new Map<string, number>();
    names.forEach((name) => times.set(name, (times.get(name) ?? 0) + 1));
    for (const [file, name] of names) {
      if ((times.get(name) ?? 0) > 1) {
        names.set(file, file.split("/").slice(-1 - folders).join("/"));
      }
    }
  }
  return names;
}

/** A member of a report as text, by the unit in its name. */
export function formatted(value: number, is: string): string {
  if (is.includes("per_second")) {
    return `${bytes(value)}/s`;
  }
  const isShare = is.includes("share") || is === "probability";
  // The ends of a range and the sides of a change have the unit of their figure.
  const of = is.replace(/_(low|high|before|now)$/, "");
  return isShare ? percent(value) : of.endsWith("seconds") ? duration(value) : of.endsWith("bytes") ? bytes(value) : count(value);
}

/** The member that a report weighs samples in: seconds, events, bytes, blocks or copies. */
export function memberOf(row: object, prefix = ""): string | undefined {
  const members = row as Record<string, unknown>;
  return ["seconds", "events", "bytes", "blocks", "copies"].map((unit) => prefix + unit).find((name) => typeof members[name] === "number");
}

/** What a report weighs samples in, as text. */
export function amount(row: object, prefix = ""): string {
  const is = memberOf(row, prefix);
  return is === undefined ? "" : formatted((row as Record<string, number>)[is], is);
}

/** An amount of a difference, in the unit of its table. */
export function inUnit(value: number, unit: string): string {
  return unit === "seconds" ? duration(value) : unit === "bytes" ? bytes(value) : countOf(value);
}

/** A change, with its sign. */
export function changeIn(value: number, unit: string): string {
  return value > 0 ? `+${inUnit(value, unit)}` : inUnit(value, unit);
}

/** A mean of counts may be no whole number. */
function countOf(value: number): string {
  return value < 0 ? `−${countOf(-value)}` : Number.isInteger(value) ? count(value) : threeDigits(value);
}

/** A moment, by the clock and the calendar of the reader. */
export function moment(unixSeconds: number | null | undefined): string {
  return unixSeconds === null || unixSeconds === undefined
    ? ""
    : new Date(unixSeconds * 1000).toLocaleString(undefined, { dateStyle: "medium", timeStyle: "medium" });
}
