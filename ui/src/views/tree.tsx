// The calls as a tree of rows, from the root or from the functions that run. A branch is opened on
// demand; the hottest path opens at once.

import { useMemo, useRef, useState } from "preact/hooks";

import type { AboutRecording } from "../about";
import { useAnswer } from "../ask";
import { nameOf, NARROW, place as placed, placeOf, type Flame, type Picture } from "../canvas/picture";
import { percent } from "../numbers";
import { shared } from "../parts/asked";
import { tell } from "../parts/details";
import { Waiting } from "../parts/waiting";
import { change, show, usePlace } from "../place";
import { BoxDetails } from "./flame";

export function TreeView(_: { recording: AboutRecording }) {
  const place = usePlace();
  const isInverted = place.values.shape === "inverted";
  const answer = useAnswer<Flame>("flame", {
    ...shared(place),
    libraries: place.values.libraries,
    ...(isInverted ? { shape: "inverted" } : { order: "widest" }),
  });
  return (
    <section class="flame" aria-label="Tree of calls">
      <div class="tools">
        <label>
          <input
            type="checkbox"
            checked={isInverted}
            onChange={(event) => change({ shape: event.currentTarget.checked ? "inverted" : "" })}
          />{" "}
          from the functions that run
        </label>
        <label>
          <input
            type="checkbox"
            checked={place.values.libraries === "folded"}
            onChange={(event) => change({ libraries: event.currentTarget.checked ? "folded" : "" })}
          />{" "}
          fold libraries
        </label>
      </div>
      <Waiting answer={answer}>{(flame) => <Rows key={isInverted ? "inverted" : "tree"} flame={flame} isInverted={isInverted} />}</Waiting>
    </section>
  );
}

/** By box, its callees; the widest first. */
function calleesOf(picture: Picture): number[][] {
  const callees: number[][] = picture.boxes.level.map(() => []);
  picture.parent.forEach((caller, at) => caller >= 0 && callees[caller].push(at));
  callees.forEach((list) => list.sort((a, b) => picture.boxes.weight[b] - picture.boxes.weight[a]));
  return callees;
}

function hottestPath(picture: Picture, callees: number[][], from: number): number[] {
  const path = [from];
  for (;;) {
    const next = callees[path[path.length - 1]].find((at) => picture.boxes.function[at] !== NARROW);
    if (next === undefined || picture.boxes.weight[next] * 2 < picture.boxes.weight[from]) {
      return path;
    }
    path.push(next);
  }
}

function Rows({ flame, isInverted }: { flame: Flame; isInverted: boolean }) {
  const picture = useMemo(() => placed(flame), [flame]);
  const callees = useMemo(() => calleesOf(picture), [picture]);
  const [open, setOpen] = useState<Set<number>>(new Set());
  const openPaths = useMemo(() => (open.size > 0 ? open : new Set(hottestPath(picture, callees, 0).map((at) => picture.boxes.path[at]))), [open, picture]);
  const [at, setAt] = useState(0);
  const list = useRef<HTMLDivElement>(null);
  const rows: number[] = [];
  const walk = (box: number) => {
    rows.push(box);
    if (openPaths.has(picture.boxes.path[box])) {
      callees[box].forEach((callee) => (picture.boxes.function[callee] >= 0 ? walk(callee) : rows.push(callee)));
    }
  };
  if (picture.boxes.level.length > 0) {
    walk(0);
  }
  const current = rows.includes(at) ? at : 0;
  const toggle = (box: number, isOpen?: boolean) => {
    const next = new Set(openPaths);
    const path = picture.boxes.path[box];
    if (isOpen ?? !next.has(path)) {
      next.add(path);
    } else {
      next.delete(path);
    }
    setOpen(next);
  };
  const point = (box: number) => {
    setAt(box);
    tell(<BoxDetails picture={picture} at={box} />);
    list.current?.querySelector(`[data-box="${box}"]`)?.scrollIntoView({ block: "nearest" });
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const place = rows.indexOf(current);
    const path = picture.boxes.path[current];
    const steps: Record<string, () => void> = {
      ArrowDown: () => point(rows[Math.min(rows.length - 1, place + 1)]),
      ArrowUp: () => point(rows[Math.max(0, place - 1)]),
      ArrowRight: () => (openPaths.has(path) ? point(rows[Math.min(rows.length - 1, place + 1)]) : toggle(current, true)),
      ArrowLeft: () => (openPaths.has(path) ? toggle(current, false) : point(Math.max(0, picture.parent[current]))),
      "*": () => setOpen(new Set([...openPaths, ...hottestPath(picture, callees, current).map((box) => picture.boxes.path[box])])),
      Enter: () => show("flame", isInverted ? { shape: "inverted" } : { path: String(path) }),
    };
    const step = steps[event.key];
    if (step !== undefined) {
      event.preventDefault();
      step();
    }
  };
  const asText = () =>
    rows
      .map((box) => `${percent(picture.boxes.weight[box] / (flame.total || 1)).padStart(8)}  ${"  ".repeat(picture.boxes.level[box])}${nameOf(picture, box)}  ${placeOf(picture, box)}`.trimEnd())
      .join("\n");
  return (
    <>
      <div class="tools">
        <button type="button" onClick={() => setOpen(new Set(hottestPath(picture, callees, current).map((box) => picture.boxes.path[box]).concat([...openPaths])))}>
          Open the hottest path
        </button>
        <button type="button" onClick={() => setOpen(new Set([picture.boxes.path[0]]))}>
          Close all
        </button>
        <button type="button" onClick={() => void navigator.clipboard?.writeText(asText())}>
          Copy as text
        </button>
      </div>
      <div class="tree" role="tree" data-table="boxes" tabIndex={0} aria-label="Calls" ref={list} onKeyDown={onKeyDown} aria-activedescendant={`box-${current}`}>
        <div class="tree-head" aria-hidden="true">
          <span>Total</span>
          <span>Self</span>
          <span>Function</span>
        </div>
        {rows.map((box) => {
          const isNarrow = picture.boxes.function[box] === NARROW;
          const hasCallees = callees[box].length > 0;
          const isOpen = openPaths.has(picture.boxes.path[box]);
          return (
            <div
              key={box}
              id={`box-${box}`}
              data-box={box}
              data-row={`${nameOf(picture, box)} ${placeOf(picture, box).replace(/:[\d–]+$/, "")}`}
              role="treeitem"
              aria-level={picture.boxes.level[box] + 1}
              aria-expanded={hasCallees ? isOpen : undefined}
              aria-selected={box === current}
              class={box === current ? "at" : ""}
              onMouseEnter={() => !isNarrow && setAt(box)}
              onClick={() => {
                point(box);
                if (isNarrow) {
                  show("flame", { path: String(picture.boxes.path[box]) });
                } else if (hasCallees) {
                  toggle(box);
                }
              }}
            >
              <span class="number" data-number={picture.boxes.weight[box]} data-is="weight">{percent(picture.boxes.weight[box] / (flame.total || 1))}</span>
              <span class="number" data-number={picture.boxes.own[box]} data-is="own">{picture.boxes.own[box] > 0 && !isNarrow ? percent(picture.boxes.own[box] / (flame.total || 1)) : ""}</span>
              <span class="name" style={{ paddingLeft: `${Math.min(60, picture.boxes.level[box]) * 14}px` }}>
                <i aria-hidden="true">{hasCallees ? (isOpen ? "▾" : "▸") : "\u2007"}</i> {nameOf(picture, box)}{" "}
                <span class="soft">{placeOf(picture, box).split("/").pop()}</span>
              </span>
            </div>
          );
        })}
      </div>
    </>
  );
}

