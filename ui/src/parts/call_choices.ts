// What can be done with a function: look at it, or change all stacks by it. A change is a term of the
// filter: it stands in the address, holds in every view, and is taken back by its chip or by the
// browser's own button.

import { isFile } from "../ask";
import { change, show } from "../place";
import { exactly, withTerm } from "../terms";
import type { Choice } from "./menu";

export interface Called {
  name: string;
  file: string;
  /** 0 where it is not known. */
  line: number;
  /** The library that it is of, or an empty text. */
  library: string;
}

/** The choices. A page that is a file has no filter. */
export function callChoices({ name, file, line, library }: Called, filter: string): Choice[] {
  const only = exactly(name);
  const step = (term: string, value: string) => () => change({ filter: withTerm(filter, term, value), path: "" });
  const changes: Choice[] = [
    { title: "Callers and callees of this function", run: () => show("flame", { function: name, file }) },
    { title: "Only stacks with this function", run: step("focus", only) },
    { title: "Make this function the root", run: step("transform", `focus-function:${only}`) },
    { title: "Leave this function out: its time is its callers'", run: step("transform", `merge-function:${only}`) },
    { title: "Drop the samples with this function", run: step("transform", `drop-function:${only}`) },
    { title: "Fold what it calls into it", run: step("transform", `collapse-function-subtree:${only}`) },
    { title: "Fold recursion of this function", run: step("transform", `collapse-recursion:${only}`) },
  ];
  if (library !== "") {
    changes.push({ title: `Fold the library ${library} into one frame`, run: step("transform", `collapse-library:${exactly(library)}`) });
    changes.push({ title: `Leave the library ${library} out: its time is its callers'`, run: step("transform", `merge-library:${exactly(library)}`) });
  }
  const source: Choice[] = file === "" || line === 0 ? [] : [{ title: "Show its source", run: () => show("source", { file, line: String(line) }) }];
  return [...source, ...(isFile ? [] : changes)];
}
