// The rows of the tree with their keys, buttons and menu. Keys are those of a tree of the desktop:
// arrows go, open and close; `*` opens the hottest path; M shows what can be done with the function.

import type { ComponentChildren } from "preact";
import { useMemo, useRef, useState } from "preact/hooks";

import { isFile } from "../../ask";
import { NARROW, place as placed, type Flame } from "../../canvas/picture";
import { base, count, percent, weight } from "../../numbers";
import { Figure } from "../../parts/figure";
import { tell } from "../../parts/details";
import { Menu, type Choice } from "../../parts/menu";
import { useSeen } from "../../parts/seen";
import { change, show, usePlace } from "../../place";
import { rowOf } from "../flame/details";
import { choicesOf as ofBox } from "../../parts/box_menu";
import { chainKey, hottestPath, keyOf, TreeModel, type TreeRow } from "./model";

/** Deeper rows stand no further right. */
const DEEPEST = 60;
/** The height of a row of a long tree. */
const HEIGHT = 24;

export function Tree({ flame, isInverted, isFolded, above, children }: {
  flame: Flame;
  isInverted: boolean;
  isFolded: boolean;
  /** What stands above the rows. */
  above: ComponentChildren;
  /** More tools. */
  children: ComponentChildren;
}) {
  const filter = usePlace().values.filter ?? "";
  const picture = useMemo(() => placed(flame), [flame]);
  const model = useMemo(() => new TreeModel(picture, isFolded), [picture, isFolded]);
  const hottest = (from: number) => hottestPath(picture, model.callees, from).flatMap((box) => [keyOf(picture, box), chainKey(picture, box)]);
  // A chain that is folded stays so at first.
  const first = useMemo(() => new Set(hottest(0).filter((key) => !key.startsWith("chain"))), [picture, model]);
  const [chosen, setOpen] = useState<Set<string> | undefined>(undefined);
  const open = chosen ?? first;
  const rows = useMemo(() => model.rows(open), [model, open]);
  const [atKey, setAtKey] = useState("");
  const [menu, setMenu] = useState<{ x: number; y: number; row: TreeRow } | undefined>(undefined);
  const list = useRef<HTMLDivElement>(null);
  // After a key the rows move below a pointer that rests: it points at none until it moves.
  const isByKeys = useRef(false);
  const seen = useSeen(list, rows.length, HEIGHT);
  const at = Math.max(0, rows.findIndex(({ key }) => key === atKey));
  const current = rows[at];
  const toggle = ({ key, folded, box }: TreeRow, isOpen = !open.has(key)) => {
    const next = new Set(open);
    if (isOpen) {
      next.add(key);
      (folded === undefined ? [] : model.keysOfChain(box)).forEach((inside) => next.add(inside));
    } else {
      next.delete(key);
    }
    setOpen(next);
  };
  const openHottest = () => current !== undefined && setOpen(new Set([...open, ...hottest(current.box)]));
  const point = (row: TreeRow) => {
    setAtKey(row.key);
    tell(<RowDetails model={model} row={row} />);
  };
  const go = (to: number) => {
    const place = Math.max(0, Math.min(rows.length - 1, to));
    if (rows[place] !== undefined) {
      point(rows[place]);
      if (seen.isLong) {
        seen.show(place);
      } else {
        list.current?.querySelectorAll('[role="treeitem"]')[place]?.scrollIntoView({ block: "nearest" });
      }
    }
  };
  const parentOf = (place: number) => {
    for (let above = place - 1; above >= 0; above--) {
      if (rows[above].level < rows[place].level) {
        return above;
      }
    }
    return 0;
  };
  // Calls that are too small for this picture are in one of their own.
  const enlarge = (row: TreeRow) => {
    if (isInverted || isFile) {
      show("flame", isInverted ? { shape: "inverted" } : {});
    } else {
      change({ path: String(picture.boxes.path[picture.boxes.function[row.box] === NARROW ? picture.parent[row.box] : row.box]) });
    }
  };
  const openMenu = (row: TreeRow, x: number, y: number) => choicesOf(model, row, filter).length > 0 && setMenu({ x, y, row });
  const onKeyDown = (event: KeyboardEvent) => {
    if (current === undefined || event.ctrlKey || event.metaKey || event.altKey) {
      return;
    }
    const steps: Record<string, () => void> = {
      ArrowDown: () => go(at + 1),
      ArrowUp: () => go(at - 1),
      PageDown: () => go(at + 15),
      PageUp: () => go(at - 15),
      Home: () => go(0),
      End: () => go(rows.length - 1),
      ArrowRight: () => (current.isOpen || !current.hasMore ? go(at + 1) : toggle(current, true)),
      ArrowLeft: () => (current.isOpen ? toggle(current, false) : go(parentOf(at))),
      " ": () => current.hasMore && toggle(current),
      "*": () => openHottest(),
      Enter: () => enlarge(current),
      m: () => {
        const box = list.current?.querySelector<HTMLElement>(".at");
        openMenu(current, 120, (box?.offsetTop ?? 0) + 22);
      },
    };
    const step = steps[event.key];
    if (step !== undefined) {
      event.preventDefault();
      isByKeys.current = true;
      step();
    }
  };
  const copy = () => {
    void navigator.clipboard?.writeText(asText(model, rows)).then(() => tell(`${count(rows.length)} rows are copied as text.`));
  };
  return (
    <>
      <div class="tools">
        {children}
        <button type="button" onClick={openHottest} title="From the chosen row on; key: *">
          Open the hottest path
        </button>
        <button type="button" onClick={() => setOpen(new Set([keyOf(picture, 0)]))}>
          Close all
        </button>
        <button type="button" onClick={copy}>
          Copy as text
        </button>
        <button type="button" disabled={current === undefined || choicesOf(model, current, filter).length === 0} onClick={(event) => current !== undefined && openMenu(current, event.currentTarget.offsetLeft, 4)} title="Focus, drop, merge, collapse; key: M">
          Do with the chosen function …
        </button>
      </div>
      {above}
      <div class="tree-place">
        <div class={seen.isLong ? "tree calls long" : "tree calls"} onScroll={seen.onScroll} onMouseMove={({ movementX, movementY }) => { isByKeys.current &&= movementX === 0 && movementY === 0; }} role="tree" data-table="boxes" tabIndex={0} aria-label={isInverted ? "Callers of the functions that run" : "Calls"} ref={list} onKeyDown={onKeyDown} aria-activedescendant={current === undefined ? undefined : `row-${at}`}>
          <div class="tree-head" aria-hidden="true">
            <span>Total</span>
            <span class="extra" />
            <span>Self</span>
            <span>Function</span>
          </div>
          <Gap rows={seen.first} />
          {rows.slice(seen.first, seen.last).map((row, place) => (
            <RowOf
              key={row.key}
              model={model}
              row={row}
              id={`row-${seen.first + place}`}
              isAt={seen.first + place === at}
              onPoint={() => !isByKeys.current && point(row)}
              onChoose={() => {
                point(row);
                if (picture.boxes.function[row.box] === NARROW) {
                  enlarge(row);
                } else if (row.hasMore) {
                  toggle(row);
                }
              }}
              onMenu={(x, y) => {
                point(row);
                openMenu(row, x, y);
              }}
            />
          ))}
          <Gap rows={rows.length - seen.last} />
        </div>
        {menu !== undefined && (
          <Menu x={menu.x} y={Math.max(0, menu.y - (list.current?.scrollTop ?? 0))} isFree choices={choicesOf(model, menu.row, filter)} onClose={() => { setMenu(undefined); list.current?.focus(); }} />
        )}
      </div>
    </>
  );
}

function Gap({ rows }: { rows: number }) {
  return rows <= 0 ? null : <div class="gap" aria-hidden="true" style={{ height: `${rows * HEIGHT}px` }} />;
}

function RowOf({ model, row, id, isAt, onPoint, onChoose, onMenu }: {
  model: TreeModel;
  row: TreeRow;
  id: string;
  isAt: boolean;
  onPoint: () => void;
  onChoose: () => void;
  onMenu: (x: number, y: number) => void;
}) {
  const { picture } = model;
  const { boxes, flame } = picture;
  const { box } = row;
  const isNarrow = boxes.function[box] === NARROW;
  const [all, own] = [flame.total || 1, boxes.own[box]];
  const place = model.place(row);
  const isOwn = row.folded === undefined && own > 0 && !isNarrow;
  return (
    <div
      id={id}
      data-row={rowKey(model, row)}
      role="treeitem"
      aria-level={row.level + 1}
      aria-expanded={row.hasMore ? row.isOpen : undefined}
      aria-selected={isAt}
      class={`${isAt ? "at" : ""}${row.folded === undefined ? "" : " folded"}`}
      onMouseEnter={() => !isNarrow && onPoint()}
      onClick={onChoose}
      onContextMenu={(event) => {
        event.preventDefault();
        const within = event.currentTarget.parentElement?.getBoundingClientRect();
        onMenu(event.clientX - (within?.left ?? 0), event.clientY - (within?.top ?? 0) + (event.currentTarget.parentElement?.scrollTop ?? 0));
      }}
    >
      <span class="number" data-number={boxes.weight[box]} data-is="weight">{percent(boxes.weight[box] / all)}</span>
      <span class="number soft extra" data-number={boxes.weight[box]} data-is="weight">{weight(boxes.weight[box], flame.unit)}</span>
      {isOwn ? <span class="number" data-number={own} data-is="own">{percent(own / all)}</span> : <span />}
      <span class="name" style={{ paddingLeft: `${Math.min(DEEPEST, row.level) * 14}px` }}>
        <i aria-hidden="true">{row.hasMore ? (row.isOpen ? "▾" : "▸") : "\u2007"}</i> {model.name(row)} <span class="soft">{base(place)}</span>
      </span>
    </div>
  );
}

/** The row as the reports of the picture name it: the function and its file. */
function rowKey(model: TreeModel, row: TreeRow): string {
  const { boxes, flame } = model.picture;
  const of = boxes.function[row.box];
  return row.folded === undefined || of < 0 ? `${model.name(row)} ${model.place(row).replace(/:[\d–]+$/, "")}` : `${flame.functions.name[of]} ${flame.functions.file[of]}`;
}

function RowDetails({ model, row }: { model: TreeModel; row: TreeRow }) {
  const { boxes, flame } = model.picture;
  const { box } = row;
  const of = rowOf(flame, box);
  return (
    <span data-table="boxes" data-row={String(boxes.path[box])}>
      <b>{model.name(row)}</b> <bdi>{model.place(row)}</bdi> · total <Figure row={of} is="weight" unit={flame.unit} /> (<Figure row={of} is="share" />)
      {row.folded === undefined && <> · self <Figure row={of} is="own" unit={flame.unit} /> (<Figure row={of} is="own_share" />)</>}
      {of.count > 0 && <> · <Figure row={of} is="count" /> {of.count === 1 ? "sample" : "samples"}</>}
      {row.folded !== undefined && <> · open it to see its functions and their own time</>}
    </span>
  );
}

/** A folded chain is no function, and has none. */
function choicesOf(model: TreeModel, row: TreeRow, filter: string): Choice[] {
  return row.folded === undefined ? ofBox(model.picture, row.box, filter) : [];
}

/** The rows that are seen, as text. */
function asText(model: TreeModel, rows: TreeRow[]): string {
  const { boxes, flame } = model.picture;
  const share = (value: number) => percent(value / (flame.total || 1)).padStart(8);
  const lines = rows.map((row) => {
    const own = row.folded === undefined && boxes.own[row.box] > 0 ? share(boxes.own[row.box]) : " ".repeat(8);
    return `${share(boxes.weight[row.box])} ${own}  ${"  ".repeat(Math.min(DEEPEST, row.level))}${model.name(row)}  ${model.place(row)}`.trimEnd();
  });
  return [`${"total".padStart(8)} ${"self".padStart(8)}`, ...lines].join("\n");
}
