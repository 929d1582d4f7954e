// A filter as its terms: `thread=main focus=^parse`. The text is the command's own, so what is
// filtered here can be typed behind `profundo report` too.

/** A term of a filter. */
export interface Term {
  name: string;
  value: string;
}

/** The terms of a filter's text. */
export function terms(text: string): Term[] {
  const found: Term[] = [];
  const pattern = /([a-z-]+)=("(?:[^"\\]|\\.)*"|\S*)/g;
  for (const [, name, value] of text.matchAll(pattern)) {
    found.push({ name, value: value.startsWith('"') ? value.slice(1, -1).replace(/\\(.)/g, "$1") : value });
  }
  return found;
}

/** The text of terms. */
export function textOfTerms(list: Term[]): string {
  return list.map(({ name, value }) => `${name}=${quoted(value)}`).join(" ");
}

function quoted(value: string): string {
  return /[\s"]/.test(value) || value === "" ? `"${value.replace(/["\\]/g, "\\$&")}"` : value;
}

/** The filter with one more term. */
export function withTerm(text: string, name: string, value: string): string {
  const list = terms(text);
  const isThere = list.some((term) => term.name === name && term.value === value);
  return isThere ? text : textOfTerms([...list, { name, value }]);
}

/** The filter without the term at a place. */
export function without(text: string, place: number): string {
  return textOfTerms(terms(text).filter((_, at) => at !== place));
}

/** A regular expression that matches this text alone. */
export function exactly(text: string): string {
  return `^${text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")}$`;
}

/** The filter with these times, in nanoseconds, in place of its own; without any if there is none. */
export function withTimes(text: string, span?: { from: number; to: number }): string {
  const others = terms(text).filter(({ name }) => name !== "from" && name !== "to");
  const times = span === undefined ? [] : [{ name: "from", value: secondsOf(span.from) }, { name: "to", value: secondsOf(span.to) }];
  return textOfTerms([...others, ...times]);
}

/** Nanoseconds as the seconds of a filter. */
export function secondsOf(time: number): string {
  return (Math.max(0, Math.round(time)) / 1e9).toFixed(9).replace(/\.?0+$/, "");
}
