// The flame graph with its tools. A small one has fewer.

import { isFile, useAnswer, type Values } from "../../ask";
import type { Flame } from "../../canvas/picture";
import { shared } from "../../parts/asked";
import { Figure } from "../../parts/figure";
import { FoldChoice } from "../../parts/fold";
import { LookChoice, useLook } from "../../parts/look";
import { useSearch } from "../../parts/search";
import { Waiting } from "../../parts/waiting";
import { change, show, usePlace } from "../../place";
import { terms, textOfTerms, withTerm } from "../../terms";
import { InTime } from "../in_time";
import { Drawing } from "./drawing";
import { zoomNameOf } from "./zoom";

const SHAPES: Record<string, { title: string; about: string; question: Record<string, string>; isIcicle: boolean }> = {
  icicle: { title: "icicle", about: "callers at the top, in the order of names", question: {}, isIcicle: true },
  flame: { title: "flame", about: "callers at the bottom, in the order of names", question: {}, isIcicle: false },
  left: { title: "left-heavy", about: "callers at the top, the widest calls first", question: { order: "widest" }, isIcicle: true },
  inverted: { title: "inverted", about: "the functions that run at the top, their callers below", question: { shape: "inverted" }, isIcicle: true },
  time: { title: "in time", about: "a lane for each thread, in the order of time", question: {}, isIcicle: true },
};

const BY: [string, string][] = [
  ["", "nothing"],
  ["process", "process"],
  ["thread", "thread"],
  ["task", "task"],
  ["span", "span"],
];

/** Another look at the same samples shows them all. */
const ALL = { path: "", zoom: "" };

export function FlamePicture({ isSmall = false, filter, title = "Calls", pathName = "path" }: { isSmall?: boolean; filter?: string; title?: string; pathName?: string }) {
  const place = usePlace();
  const { text, field } = useSearch();
  const isInTime = place.values.shape === "time" && !isSmall;
  const shape = SHAPES[place.values.shape ?? ""] ?? SHAPES.icicle;
  const by = shape.question.shape === "inverted" ? "" : (place.values.by ?? "");
  const zoomed = place.values[pathName];
  const path = isFile ? undefined : zoomed;
  const whole = { ...shared(place), ...(filter === undefined ? {} : { filter }), ...shape.question, by, libraries: place.values.libraries };
  const answer = useAnswer<Flame>(isInTime ? undefined : "flame", { ...whole, path });
  // The overview of what was zoomed into is that of everything, which was asked for before.
  const everything = useAnswer<Flame>(isInTime || isSmall || path === undefined ? undefined : "flame", whole);
  const look = useLook();
  const zoomName = zoomNameOf(pathName);
  const isPart = zoomed !== undefined || place.values[zoomName] !== undefined;
  const { order: _, ...question } = whole as Values;
  return (
    <section class={isSmall ? "flame small card" : "flame"} aria-label={filter === undefined ? "Flame graph" : `Flame graph: ${title}`}>
      <div class="tools">
        {isSmall ? (
          <h2>
            {title}{" "}
            <a href="#flame" onClick={(event) => { event.preventDefault(); show("flame", filter === undefined ? {} : { filter }); }}>
              larger
            </a>
          </h2>
        ) : (
          <Tools by={by} />
        )}
        {field}
        {filter === undefined && <Found text={text} />}
        {isInTime && place.values.end !== undefined && (
          <button type="button" onClick={() => change({ start: "", end: "" })}>
            Whole time
          </button>
        )}
        {isPart && !isInTime && (
          <button type="button" onClick={() => change({ [pathName]: "", [zoomName]: "" })}>
            Zoom out
          </button>
        )}
      </div>
      {isInTime ? (
        <InTime look={look} search={text} />
      ) : (
        <Waiting answer={answer}>
          {(flame) => (
            <Drawing
              flame={flame}
              whole={path === undefined || everything.isOld ? undefined : everything.value}
              question={by === "" ? question : undefined}
              look={look}
              search={text}
              isIcicle={shape.isIcicle}
              isSmall={isSmall}
              pathName={pathName}
            />
          )}
        </Waiting>
      )}
    </section>
  );
}

/** What is chosen of the picture: its shape, its colours, its parts. */
function Tools({ by }: { by: string }) {
  const place = usePlace();
  return (
    <>
      <label>
        Shape{" "}
        <select value={place.values.shape ?? "icicle"} onChange={(event) => change({ shape: event.currentTarget.value, ...ALL })}>
          {Object.entries(SHAPES).filter(([name]) => !isFile || name !== "time").map(([name, { title, about }]) => (
            <option key={name} value={name} title={about}>
              {title}
            </option>
          ))}
        </select>
      </label>
      <LookChoice />
      {!isFile && (
        <label>
          By{" "}
          <select value={by} onChange={(event) => change({ by: event.currentTarget.value, ...ALL })}>
            {BY.map(([by, title]) => (
              <option key={by} value={by}>
                {title}
              </option>
            ))}
          </select>
        </label>
      )}
      <FoldChoice />
      {!isFile && (
        <label>
          <input
            type="checkbox"
            checked={isMerged(place.values.filter ?? "")}
            onChange={(event) => change({ filter: recursion(place.values.filter ?? "", event.currentTarget.checked), ...ALL })}
          />{" "}
          merge recursion
        </label>
      )}
    </>
  );
}

const RECURSION = "collapse-recursion";

/** Whether the filter merges all recursion, not that of one function. */
function isMerged(filter: string): boolean {
  return terms(filter).some((term) => term.name === "transform" && term.value === RECURSION);
}

/** The filter with or without the transform that merges recursion. */
function recursion(filter: string, isMerged: boolean): string {
  const others = terms(filter).filter((term) => term.value !== RECURSION);
  return isMerged ? withTerm(textOfTerms(others), "transform", RECURSION) : textOfTerms(others);
}

/** The share of samples whose stack the search finds. */
function Found({ text }: { text: string }) {
  const place = usePlace();
  const answer = useAnswer<{ share: number; weight: number; unit: string }>(
    text === "" || isFile ? undefined : "search",
    { ...shared(place), text },
  );
  if (text === "" || isFile || answer.value === undefined) {
    return null;
  }
  return (
    <span class={answer.isOld ? "old" : ""} role="status" data-table="found" data-row="all">
      {answer.error ?? (
        <>
          <Figure row={answer.value} is="share" /> (<Figure row={answer.value} is="weight" unit={answer.value.unit} />) have it on their stack
        </>
      )}
    </span>
  );
}
