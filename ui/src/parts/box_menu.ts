// What can be done with a box: with its function, its file, its library, and its stack. Other
// pictures of functions offer the same.

import { isFile } from "../ask";
import { stackText, type Picture } from "../canvas/picture";
import { base } from "../numbers";
import type { Choice } from "./menu";
import { change, show } from "../place";
import { exactly, withTerm } from "../terms";

/** A function that a menu is about. */
export interface Target {
  name: string;
  file: string;
  line: number;
  /** The library as filters name it; empty if it has none. */
  library: string;
}

/** The steps that leave or change stacks, for a function, its file and its library. */
export function choicesFor(target: Target, filter: string, isGraph = false): Choice[] {
  const { name, file, line, library } = target;
  const step = (term: string, value: string) => () => change({ filter: withTerm(filter, term, value), path: "", zoom: "" });
  const transform = (operation: string, text: string) => step("transform", `${operation}:${exactly(text)}`);
  const choices: Choice[] = [];
  if (!isFile) {
    choices.push({ title: "Callers and callees of this function", run: () => show("flame", { function: name, file }) });
  }
  // Terms look for a name: code without one is chosen by its file.
  if (!isFile && name !== "[unknown]") {
    choices.push(
      { title: "Only stacks with this function", run: step("focus", exactly(name)) },
      { title: "Make this function the root", run: transform("focus-function", name) },
      { title: "Leave this function out: its time is its callers'", run: transform("merge-function", name) },
      { title: "Drop the samples with this function", run: transform("drop-function", name) },
      { title: "Fold what it calls into it", run: transform("collapse-function-subtree", name) },
      { title: "Fold recursion of this function", run: transform("collapse-recursion", name) },
    );
  }
  if (!isFile) {
    if (!isGraph) {
      choices.push({ title: "The call graph around it", run: () => show("graph", { function: name, file }) });
    }
    if (file !== "") {
      const group = `The file ${base(file)}`;
      choices.push(
        { group, title: "Only stacks with this file", run: step("focus", exactly(file)) },
        { group, title: "Leave this file out: its time is its callers'", run: transform("merge-file", file) },
        { group, title: "Drop the samples with this file", run: transform("drop-file", file) },
      );
    }
    if (library !== "") {
      const group = `The library ${library}`;
      choices.push(
        { group, title: "Make each run of its calls one box", run: transform("collapse-library", library) },
        { group, title: "Leave this library out: its time is its callers'", run: transform("merge-library", library) },
        { group, title: "Drop the samples with this library", run: transform("drop-library", library) },
      );
    }
  }
  if (file !== "" && line > 0) {
    choices.push({ group: "See", title: "Show its source", run: () => show("source", { file, line: String(line) }) });
  }
  return choices;
}

/** The choices for a box of a flame graph. */
export function choicesOf(picture: Picture, at: number, filter: string): Choice[] {
  const { boxes, flame } = picture;
  const row = boxes.function[at];
  // Processes, threads and other parts are no functions.
  if (row < 0 || flame.functions.kind[row] === "root") {
    return [];
  }
  const { name, file, library } = flame.functions;
  const target = { name: name[row], file: file[row], line: boxes.line[at], library: library?.[row] ?? "" };
  const copy = () => void navigator.clipboard?.writeText(stackText(picture, at));
  return [...choicesFor(target, filter), { group: "See", title: "Copy the stack as text", run: copy }];
}
