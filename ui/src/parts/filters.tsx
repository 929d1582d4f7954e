// The filter of all views: its terms as chips, and a form that adds one. Each step can be taken
// back with the browser's own button.

import { useState } from "preact/hooks";

import type { AboutRecording } from "../about";
import { isFile } from "../ask";
import { change, framedBy, usePlace } from "../place";
import { MeasureOf } from "./measure";
import { terms, withTerm, without } from "../terms";

const NAMES: [string, string][] = [
  ["function", "function on the stack"],
  ["file", "file on the stack"],
  ["focus", "stack matches"],
  ["ignore", "stack does not match"],
  ["process", "process"],
  ["thread", "thread"],
  ["task", "task"],
  ["span", "span"],
  ["from", "from (seconds)"],
  ["to", "to (seconds)"],
  ["gil", "interpreter's lock"],
  ["hide", "hide frames"],
  ["show", "show only frames"],
  ["show-from", "show from frame"],
  ["transform", "transform"],
];

/** What else a file does not have. */
const MORE = "the call graph, the flame graph in time and instructions";

export function Filters({ recording }: { recording: AboutRecording | undefined }) {
  const place = usePlace();
  const text = place.values.filter ?? "";
  const [name, setName] = useState("function");
  const [value, setValue] = useState("");
  const list = terms(text);
  const choices = new Map<string, string[]>([
    ["process", recording?.processes.map(({ pid, command }) => `${pid}\u2003${command}`) ?? []],
    ["thread", recording?.threads.map(({ number, name }) => `${number}\u2003${name}`) ?? []],
    ["task", recording?.tasks ?? []],
    ["span", recording?.spans ?? []],
    ["gil", ["held", "waiting", "released", "none"]],
    ["transform", ["collapse-recursion", "merge-function:", "drop-function:", "focus-function:", "collapse-library:"]],
  ]);
  if (isFile) {
    return (
      <div class="filters">
        <span class="soft">
          {framedBy("title") === "" ? (
            <>
              This file shows the whole recording. To filter it, and for {MORE}: <code>profundo view {recording?.word ?? "FILE"}</code>
            </>
          ) : (
            <>
              A filter, {MORE} need the profile as a file: <code>p.save("part.profundo")</code>, then <code>profundo view part.profundo</code>
            </>
          )}
        </span>
      </div>
    );
  }
  const add = (event: Event) => {
    event.preventDefault();
    const plain = value.split("\u2003")[0].trim();
    if (plain !== "") {
      change({ filter: withTerm(text, name, plain), path: "", zoom: "" });
      setValue("");
    }
  };
  return (
    <form class="filters" onSubmit={add} role="search" aria-label="Filter">
      {recording?.has.memory && <MeasureOf recording={recording} />}
      <label>
        <span class="hidden">What to filter by</span>
        <select value={name} onChange={(event) => setName(event.currentTarget.value)}>
          {NAMES.map(([name, words]) => (
            <option key={name} value={name}>
              {words}
            </option>
          ))}
        </select>
      </label>
      <label>
        <span class="hidden">The value</span>
        <input
          type="text"
          list={`values-${name}`}
          value={value}
          placeholder={choices.get(name)?.length ? "choose or type" : "name, or ^regular expression"}
          onInput={(event) => setValue(event.currentTarget.value)}
          spellcheck={false}
        />
      </label>
      <datalist id={`values-${name}`}>
        {choices.get(name)?.map((choice) => <option key={choice} value={choice} />)}
      </datalist>
      <button type="submit" disabled={value.trim() === ""}>
        Add filter
      </button>
      {list.map(({ name, value }, at) => (
        <span class="chip" key={`${name}=${value}`}>
          <b>{name}</b> {value}
          <button
            type="button"
            aria-label={`Remove the filter ${name} ${value}`}
            onClick={() => change({ filter: without(text, at), path: "", zoom: "" })}
          >
            ×
          </button>
        </span>
      ))}
      {list.length > 1 && (
        <button type="button" class="plain" onClick={() => change({ filter: "", path: "", zoom: "" })}>
          Remove all
        </button>
      )}
    </form>
  );
}
