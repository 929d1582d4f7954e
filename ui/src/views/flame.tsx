// The flame graph: the shapes of one picture.

import type { ComponentChildren } from "preact";
import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";

import type { AboutRecording } from "../about";
import { isFile, useAnswer } from "../ask";
import { fills, LOOKS, type Fills, type Look } from "../canvas/colours";
import { FlameCanvas, ROW } from "../canvas/flame";
import { find, nameOf, NARROW, place as placed, placeOf, type Flame, type Picture } from "../canvas/picture";
import { count } from "../numbers";
import { shared } from "../parts/asked";
import { useDark } from "../parts/dark";
import { tell } from "../parts/details";
import { Figure } from "../parts/figure";
import { Menu, type Choice } from "../parts/menu";
import { Waiting } from "../parts/waiting";
import { change, show, usePlace } from "../place";
import { exactly, terms, textOfTerms, withTerm } from "../terms";
import { InTime } from "./in_time";

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

export function FlameView(_: { recording: AboutRecording }) {
  const place = usePlace();
  return place.values.function === undefined ? <FlamePicture /> : <Sandwich />;
}

/** A function between its callers, above, and its callees, below. */
function Sandwich() {
  const place = usePlace();
  const question = { ...shared(place), function: place.values.function, file: place.values.file };
  const callers = useAnswer<Flame>("flame", { ...question, shape: "callers" });
  const callees = useAnswer<Flame>("flame", { ...question, shape: "callees" });
  const look = LOOKS.find((look) => look === place.values.look) ?? "kind";
  const search = place.values.search ?? "";
  return (
    <section class="flame" aria-label="Callers and callees of a function">
      <div class="tools">
        <h2>{place.values.function}</h2>
        <span class="soft">its callers above, its callees below</span>
        <button type="button" onClick={() => change({ function: "", file: "", path: "" })}>
          All calls
        </button>
      </div>
      <Waiting answer={callers}>{(flame) => <Drawing flame={flame} look={look} search={search} isIcicle={false} isSmall={false} />}</Waiting>
      <Waiting answer={callees}>{(flame) => <Drawing flame={flame} look={look} search={search} isIcicle={true} isSmall={false} />}</Waiting>
    </section>
  );
}

/** The picture with its tools. A small one has fewer. */
export function FlamePicture({ isSmall = false, filter, title = "Calls" }: { isSmall?: boolean; filter?: string; title?: string }) {
  const place = usePlace();
  const isInTime = place.values.shape === "time" && !isSmall;
  const shape = SHAPES[place.values.shape ?? ""] ?? SHAPES.icicle;
  const by = shape.question.shape === "inverted" ? "" : (place.values.by ?? "");
  const path = isFile || by !== "" || shape.question.shape === "inverted" ? undefined : place.values.path;
  const answer = useAnswer<Flame>(isInTime ? undefined : "flame", { ...shared(place), ...(filter === undefined ? {} : { filter }), ...shape.question, path, by, libraries: place.values.libraries });
  const look = LOOKS.find((look) => look === place.values.look) ?? "kind";
  const [search, setSearch] = useState(place.values.search ?? "");
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
          <>
            <label>
              Shape{" "}
              <select value={place.values.shape ?? "icicle"} onChange={(event) => change({ shape: event.currentTarget.value, path: "" })}>
                {Object.entries(SHAPES).map(([name, { title, about }]) => (
                  <option key={name} value={name} title={about}>
                    {title}
                  </option>
                ))}
              </select>
            </label>
            <label>
              Colours{" "}
              <select value={look} onChange={(event) => change({ look: event.currentTarget.value }, false)}>
                {LOOKS.map((look) => (
                  <option key={look} value={look}>
                    {look}
                  </option>
                ))}
              </select>
            </label>
            {!isFile && (
              <label>
                By{" "}
                <select value={by} onChange={(event) => change({ by: event.currentTarget.value, path: "" })}>
                  {BY.map(([by, title]) => (
                    <option key={by} value={by}>
                      {title}
                    </option>
                  ))}
                </select>
              </label>
            )}
            {!isFile && (
              <label>
                <input
                  type="checkbox"
                  checked={place.values.libraries === "folded"}
                  onChange={(event) => change({ libraries: event.currentTarget.checked ? "folded" : "", path: "" })}
                />{" "}
                fold libraries
              </label>
            )}
            {!isFile && (
              <label>
                <input
                  type="checkbox"
                  checked={(place.values.filter ?? "").includes("transform=collapse-recursion")}
                  onChange={(event) => change({ filter: recursion(place.values.filter ?? "", event.currentTarget.checked), path: "" })}
                />{" "}
                merge recursion
              </label>
            )}
          </>
        )}
        <label>
          Search{" "}
          <input
            type="search"
            data-search
            value={search}
            spellcheck={false}
            onInput={(event) => {
              setSearch(event.currentTarget.value);
              change({ search: event.currentTarget.value }, false);
            }}
          />
        </label>
        {filter === undefined && <Found text={search} />}
        {isInTime && place.values.end !== undefined && (
          <button type="button" onClick={() => change({ start: "", end: "" })}>
            Whole time
          </button>
        )}
        {place.values.path !== undefined && (
          <button type="button" onClick={() => change({ path: "" })}>
            Zoom out
          </button>
        )}
      </div>
      {isInTime ? (
        <InTime look={look} search={search} />
      ) : (
        <Waiting answer={answer}>
          {(flame) => <Drawing flame={flame} look={look} search={search} isIcicle={shape.isIcicle} isSmall={isSmall} />}
        </Waiting>
      )}
    </section>
  );
}

/** The filter with or without the transform that merges recursion. */
function recursion(filter: string, isMerged: boolean): string {
  const name = "collapse-recursion";
  const others = terms(filter).filter((term) => term.value !== name);
  return isMerged ? withTerm(textOfTerms(others), "transform", name) : textOfTerms(others);
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

/** A picture that is drawn, with its keys, its menu and its details. Another view has its own fills
    and words for a box. */
export function Drawing({
  flame,
  look = "kind",
  search,
  isIcicle,
  isSmall,
  fillsOf = (picture, isDark) => fills(picture, look, isDark),
  details = (picture, at) => <BoxDetails picture={picture} at={at} />,
}: {
  flame: Flame;
  look?: Look;
  search: string;
  isIcicle: boolean;
  isSmall: boolean;
  fillsOf?: (picture: Picture, isDark: boolean) => Fills;
  details?: (picture: Picture, at: number) => ComponentChildren;
}) {
  const place = usePlace();
  const box = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const drawing = useRef<FlameCanvas | undefined>(undefined);
  const [menu, setMenu] = useState<{ x: number; y: number; at: number } | undefined>(undefined);
  const picture = useMemo(() => placed(flame), [flame]);
  const isDark = useDark();
  const colours = useMemo(() => fillsOf(picture, isDark), [picture, look, isDark]);

  // What is on the screen is what a press finds: all of this is done before the next frame.
  useLayoutEffect(() => {
    if (canvas.current === null || box.current === null) {
      return;
    }
    const made = new FlameCanvas(canvas.current);
    drawing.current = made;
    // For tests: the time of a frame.
    (canvas.current as HTMLCanvasElement & { drawing?: FlameCanvas }).drawing = made;
    const element = box.current;
    const fit = () => made.resize(element.clientWidth, element.clientHeight);
    fit();
    const observer = new ResizeObserver(fit);
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  useLayoutEffect(() => {
    const made = drawing.current;
    if (made === undefined) {
      return;
    }
    made.isIcicle = isIcicle;
    // What was chosen stays chosen, where it is in the new picture too.
    const chosen = made.picture?.boxes.path[made.selected];
    made.show(picture);
    made.selected = chosen === undefined ? -1 : find(picture, chosen);
    zoomByPath(made, picture, place.values.path);
  }, [picture, isIcicle]);
  useLayoutEffect(() => {
    const made = drawing.current;
    if (made !== undefined) {
      zoomByPath(made, picture, place.values.path);
    }
  }, [place.values.path]);
  useLayoutEffect(() => {
    const made = drawing.current;
    if (made === undefined) {
      return;
    }
    made.fills = colours.of;
    made.found = findAll(picture, search);
    const style = getComputedStyle(document.body);
    made.theme = {
      ground: style.backgroundColor,
      ink: isDark ? "#fff" : "#000",
      softInk: isDark ? "rgba(255,255,255,0.72)" : "rgba(0,0,0,0.66)",
      line: style.backgroundColor,
      mark: style.color,
    };
    made.draw();
  }, [colours, search, picture, isDark]);

  const point = (at: number) => {
    const made = drawing.current;
    if (made !== undefined && at !== made.hovered) {
      made.hovered = at;
      made.draw();
      if (at >= 0) {
        tell(details(picture, at));
      }
    }
  };
  const select = (at: number) => {
    const made = drawing.current;
    if (made !== undefined && at >= 0) {
      made.selected = at;
      made.reveal(at);
      tell(details(picture, at));
    }
  };
  const zoom = (at: number) => {
    const made = drawing.current;
    if (made === undefined || at < 0) {
      return;
    }
    const narrow = picture.boxes.function[at] === NARROW;
    const target = narrow ? picture.parent[at] : at;
    made.zoomTo(target);
    change({ path: target === 0 && flame.callers.level.length === 0 ? "" : String(picture.boxes.path[target]) });
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const made = drawing.current;
    if (made === undefined) {
      return;
    }
    const at = made.selected < 0 ? 0 : made.selected;
    const steps: Record<string, () => void> = {
      ArrowUp: () => select(isIcicle ? picture.parent[at] : child(picture, at)),
      ArrowDown: () => select(isIcicle ? child(picture, at) : picture.parent[at]),
      ArrowLeft: () => select(sibling(picture, at, -1)),
      ArrowRight: () => select(sibling(picture, at, 1)),
      Enter: () => zoom(at),
      Escape: () => change({ path: "" }),
      Backspace: () => change({ path: "" }),
      "+": () => made.zoom(0.7, made.canvas.clientWidth / 2),
      "-": () => made.zoom(1.4, made.canvas.clientWidth / 2),
      m: () => picture.boxes.function[at] >= 0 && setMenu({ x: 40, y: 40, at }),
    };
    const step = steps[event.key];
    if (step !== undefined) {
      event.preventDefault();
      step();
    }
  };
  const drag = useRef<{ x: number; y: number; moved: boolean } | undefined>(undefined);
  const rows = Math.min(picture.rows.length + 1, isSmall ? 14 : 400);
  return (
    <>
      <Callers flame={flame} />
      <div class="picture" ref={box} style={isSmall ? { height: `${Math.max(6, rows) * ROW}px` } : undefined}>
        <canvas
          ref={canvas}
          tabIndex={0}
          role="application"
          aria-label={`Flame graph of ${count(picture.boxes.level.length)} boxes. Arrow keys go to callers, callees and neighbours, Enter zooms in. The views Functions and Source have the same numbers as tables.`}
          onKeyDown={onKeyDown}
          onPointerDown={(event) => {
            drag.current = { x: event.clientX, y: event.clientY, moved: false };
            event.currentTarget.setPointerCapture(event.pointerId);
          }}
          onPointerMove={(event) => {
            const made = drawing.current;
            if (made === undefined) {
              return;
            }
            const held = drag.current;
            if (held !== undefined) {
              const [x, y] = [event.clientX - held.x, event.clientY - held.y];
              if (held.moved || Math.abs(x) + Math.abs(y) > 4) {
                made.pan(x, y);
                drag.current = { x: event.clientX, y: event.clientY, moved: true };
                return;
              }
            }
            point(made.at(event.offsetX, event.offsetY));
          }}
          onPointerUp={(event) => {
            const made = drawing.current;
            const held = drag.current;
            drag.current = undefined;
            if (made !== undefined && held !== undefined && !held.moved && event.button === 0) {
              const at = made.at(event.offsetX, event.offsetY);
              select(at);
              zoom(at);
            }
          }}
          onPointerLeave={() => point(-1)}
          onContextMenu={(event) => {
            event.preventDefault();
            const made = drawing.current;
            const at = made?.at(event.offsetX, event.offsetY) ?? -1;
            if (at >= 0) {
              select(at);
              setMenu({ x: event.offsetX, y: event.offsetY, at });
            }
          }}
          onWheel={(event) => {
            const made = drawing.current;
            if (made === undefined) {
              return;
            }
            if (event.ctrlKey || event.metaKey) {
              event.preventDefault();
              made.zoom(Math.exp(event.deltaY / 300), event.offsetX);
            } else if (!isSmall) {
              event.preventDefault();
              made.pan(-event.deltaX, 0);
              made.scroll(((isIcicle ? 1 : -1) * event.deltaY) / ROW);
            }
          }}
        />
        {menu !== undefined && <Menu x={menu.x} y={menu.y} choices={choices(picture, menu.at, place.values.filter ?? "")} onClose={() => { setMenu(undefined); canvas.current?.focus(); }} />}
      </div>
      <ul class="legend">
        {colours.legend.map(([name, colour]) => (
          <li key={name}>
            <i class="dot" style={{ background: colour }} /> {name}
          </li>
        ))}
      </ul>
    </>
  );
}

/** What can be done with a box. */
function choices(picture: Picture, at: number, filter: string): Choice[] {
  const row = picture.boxes.function[at];
  if (row < 0) {
    return [];
  }
  const name = picture.flame.functions.name[row];
  const file = picture.flame.functions.file[row];
  const only = exactly(name);
  const step = (term: string, value: string) => () => change({ filter: withTerm(filter, term, value), path: "" });
  const found: Choice[] = [
    { title: "Callers and callees of this function", run: () => show("flame", { function: name, file }) },
    { title: "Only stacks with this function", run: step("focus", only) },
    { title: "Make this function the root", run: step("transform", `focus-function:${only}`) },
    { title: "Leave this function out: its time is its callers'", run: step("transform", `merge-function:${only}`) },
    { title: "Drop the samples with this function", run: step("transform", `drop-function:${only}`) },
    { title: "Fold what it calls into it", run: step("transform", `collapse-function-subtree:${only}`) },
    { title: "Fold recursion of this function", run: step("transform", `collapse-recursion:${only}`) },
  ];
  const shownChoices = isFile ? [] : found;
  if (file !== "" && picture.boxes.line[at] > 0) {
    shownChoices.push({ title: "Show its source", run: () => show("source", { file, line: String(picture.boxes.line[at]) }) });
  }
  shownChoices.push({ title: "Copy the stack as text", run: () => void navigator.clipboard?.writeText(stackText(picture, at)) });
  return shownChoices;
}

function stackText(picture: Picture, at: number): string {
  const lines: string[] = [];
  for (let next = at; next >= 0; next = picture.parent[next]) {
    lines.push(`${nameOf(picture, next)}  ${placeOf(picture, next)}`.trim());
  }
  return lines.join("\n");
}

/** The callers above the box that was zoomed into. */
function Callers({ flame }: { flame: Flame }) {
  const { callers, functions } = flame;
  if (callers.level.length === 0) {
    return null;
  }
  return (
    <nav class="callers" aria-label="Callers of what is shown">
      <button type="button" class="plain" onClick={() => change({ path: "" })}>
        all
      </button>
      {callers.function.map((row, at) => (
        <button key={at} type="button" class="plain" onClick={() => change({ path: String(callers.path[at]) })}>
          {functions.name[row]}
        </button>
      ))}
    </nav>
  );
}

/** The numbers of a box. */
export function BoxDetails({ picture, at }: { picture: Picture; at: number }) {
  const { boxes, flame } = picture;
  const all = flame.total || 1;
  const row = { weight: boxes.weight[at], own: boxes.own[at], count: boxes.count[at], share: boxes.weight[at] / all, own_share: boxes.own[at] / all };
  return (
    <span data-table="boxes" data-row={String(boxes.path[at])}>
      <b>{nameOf(picture, at)}</b> <bdi>{placeOf(picture, at)}</bdi> · total <Figure row={row} is="weight" unit={flame.unit} /> (<Figure row={row} is="share" />) · self{" "}
      <Figure row={row} is="own" unit={flame.unit} /> (<Figure row={row} is="own_share" />)
      {row.count > 0 && <> · <Figure row={row} is="count" /> samples</>}
    </span>
  );
}

function zoomByPath(made: FlameCanvas, picture: Picture, path: string | undefined): void {
  const at = path === undefined ? 0 : find(picture, Number(path));
  made.zoomTo(Math.max(0, at));
}

function child(picture: Picture, at: number): number {
  let [best, most] = [-1, -1];
  for (let next = at + 1; next < picture.parent.length && picture.boxes.level[next] > picture.boxes.level[at]; next++) {
    if (picture.parent[next] === at && picture.boxes.weight[next] > most) {
      [best, most] = [next, picture.boxes.weight[next]];
    }
  }
  return best;
}

function sibling(picture: Picture, at: number, step: number): number {
  const row = picture.rows[picture.boxes.level[at]];
  return row[row.indexOf(at) + step] ?? -1;
}

function findAll(picture: Picture, text: string): Uint8Array {
  if (text === "") {
    return new Uint8Array(0);
  }
  const wanted = text.toLowerCase();
  const { name, file } = picture.flame.functions;
  const isFound = name.map((name, row) => name.toLowerCase().includes(wanted) || file[row].toLowerCase().includes(wanted));
  return Uint8Array.from(picture.boxes.function, (row) => (row >= 0 && isFound[row] ? 1 : 0));
}
