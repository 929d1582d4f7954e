// How the page gets its answers: from the server that it came from, or, if it is a file, from the
// answers that it carries. No view knows which.

import { useEffect, useRef, useState } from "preact/hooks";

/** The values of a question. Empty ones are left out. */
export type Values = Record<string, string | number | boolean | undefined>;

/** An error in the words of the server. */
export class Refused extends Error {}

/** The text of a question: `profundo-view`'s `Question::text` makes the same one. */
export function textOf(name: string, values: Values = {}): string {
  const pairs = Object.entries(values)
    .map(([key, value]) => [key, value === true ? "1" : value === false ? "" : String(value ?? "")])
    .filter(([, value]) => value !== "")
    .sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))
    .map(([key, value]) => `${encodeURIComponent(key)}=${encodeURIComponent(value)}`);
  return pairs.length === 0 ? name : `${name}?${pairs.join("&")}`;
}

/** The answers of a file: JSON, compressed and coded as letters. */
const packed = document.getElementById("answers")?.textContent?.trim() ?? "";

let answers: Record<string, unknown> = {};

/** Whether the page is a file, with the answers that it carries and no others. */
export const isFile = packed !== "" && packed !== "@answers@";

/** Unpacks the answers that the page carries. */
export async function ready(): Promise<void> {
  if (isFile) {
    const bytes = Uint8Array.from(atob(packed), (letter) => letter.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    answers = await new Response(stream).json();
  }
}

/** Whether a question has an answer, as far as that is known without asking. */
export function isAnswered(name: string, values: Values = {}): boolean {
  return !isFile || textOf(name, values) in answers;
}

/** The last answers, so that going back is immediate. */
const recent = new Map<string, Promise<unknown>>();
const KEPT = 60;

/** Forgets all answers: the recording has changed. */
export function forget(): void {
  recent.clear();
}

/** Asks. */
export function ask<T>(name: string, values: Values = {}): Promise<T> {
  const text = textOf(name, values);
  if (isFile) {
    return text in answers
      ? Promise.resolve(answers[text] as T)
      : Promise.reject(new Refused("This file does not carry the answer. `profundo view FILE` opens the recording itself."));
  }
  const known = recent.get(text);
  if (known !== undefined) {
    recent.delete(text);
    recent.set(text, known);
    return known as Promise<T>;
  }
  const asked = fetchAnswer(text);
  recent.set(text, asked);
  asked.catch(() => recent.delete(text));
  const first = recent.keys().next().value;
  if (recent.size > KEPT && first !== undefined) {
    recent.delete(first);
  }
  return asked as Promise<T>;
}

async function fetchAnswer(text: string): Promise<unknown> {
  let response: Response;
  try {
    response = await fetch(`api/${text}`);
  } catch {
    throw new Refused("The server has ended. `profundo view FILE` starts it again.");
  }
  if (!response.ok) {
    throw new Refused((await response.text()) || `The server answers with ${response.status}.`);
  }
  return response.json();
}

/** The state of a question. While a new answer is awaited, the old one stays. */
export interface Answer<T> {
  value?: T;
  error?: string;
  isOld: boolean;
}

/** Asks, and again when the question or the recording is another one. */
export function useAnswer<T>(name: string | undefined, values: Values = {}): Answer<T> {
  const text = name === undefined ? "" : textOf(name, values);
  const version = useVersion();
  const [answer, setAnswer] = useState<Answer<T>>({ isOld: true });
  const last = useRef("");
  useEffect(() => {
    if (name === undefined) {
      return;
    }
    let isWanted = true;
    last.current = text;
    setAnswer((old) => ({ ...old, isOld: true }));
    ask<T>(name, values).then(
      (value) => isWanted && setAnswer({ value, isOld: false }),
      (error: Error) => isWanted && setAnswer((old) => ({ value: old.value, error: error.message, isOld: false })),
    );
    return () => {
      isWanted = false;
    };
  }, [text, version]);
  return answer.isOld || last.current === text ? answer : { ...answer, isOld: true };
}

let version = 0;
const watchers = new Set<() => void>();

let isHeld = false;
/** A version that came while the page was held. */
let isMissed = false;

/** Holds the page at what it has, or lets it follow the recording again. */
export function hold(is: boolean): void {
  if (is === isHeld) {
    return;
  }
  isHeld = is;
  if (!is && isMissed) {
    renew();
  } else {
    watchers.forEach((watch) => watch());
  }
}

/** Whether the page is held. */
export function useHeld(): boolean {
  useVersion();
  return isHeld;
}

function renew(): void {
  isMissed = false;
  forget();
  version += 1;
  watchers.forEach((watch) => watch());
}

/** A number that grows with each change of the recording. */
export function useVersion(): number {
  const [, redraw] = useState(0);
  useEffect(() => {
    const watch = () => redraw((n) => n + 1);
    watchers.add(watch);
    return () => {
      watchers.delete(watch);
    };
  }, []);
  return version;
}

/** Follows the recording, and tells the server that the page is open. */
export function follow(): void {
  if (isFile) {
    return;
  }
  let seen: string | undefined;
  const events = new EventSource("api/events");
  events.addEventListener("version", (event) => {
    const now = (event as MessageEvent<string>).data;
    if (seen !== undefined && seen !== now) {
      if (isHeld) {
        isMissed = true;
      } else {
        renew();
      }
    }
    seen = now;
  });
}
