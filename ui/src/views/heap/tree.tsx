// The tree of dominators: what each object alone holds. A branch is asked for when it is opened.

import { useEffect, useState } from "preact/hooks";

import { ask } from "../../ask";
import { tell } from "../../parts/details";
import { Figure } from "../../parts/figure";
import { ShareBar } from "../../parts/range";
import type { GraphBranch, HeapDominators } from "../../reports";
import { idOf, ObjectName, objectWords, showHolders } from "./objects";

/** Children that one answer has. */
const CHILDREN = 60;

interface Branch {
  row: GraphBranch;
  level: number;
  isOpen: boolean;
  /** Children that are there and not shown, with their bytes. */
  hidden_children: number;
  hidden_bytes: number;
}

export function Dominators({ snapshot }: { snapshot: number }) {
  const [rows, setRows] = useState<Branch[]>([]);
  const [error, setError] = useState("");
  const [at, setAt] = useState(0);
  const asked = (id: number | undefined, limit: number) =>
    ask<HeapDominators>("heap", { snapshot, what: "below", of: id === undefined ? "" : idOf(id), limit });
  useEffect(() => {
    let isWanted = true;
    asked(undefined, CHILDREN).then(
      ({ dominators }) => isWanted && setRows(branches(dominators, 0, true)),
      (why: Error) => isWanted && setError(why.message),
    );
    return () => {
      isWanted = false;
    };
  }, [snapshot]);
  /** Opens a branch with so many children, or closes it. */
  const toggle = (branch: Branch, limit = CHILDREN) => {
    const isMore = limit > CHILDREN;
    if (branch.isOpen && !isMore) {
      setRows((old) => close(old, branch));
      return;
    }
    asked(branch.row.id, limit).then(
      ({ dominators }) =>
        setRows((old) => {
          const place = old.findIndex((row) => row.row.id === branch.row.id);
          const without = close(old, old[place] ?? branch);
          return place < 0 ? old : [...without.slice(0, place), ...branches(dominators, branch.level, true), ...without.slice(place + 1)];
        }),
      (why: Error) => setError(why.message),
    );
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const row = rows[at];
    const steps: Record<string, () => void> = {
      ArrowDown: () => move(Math.min(rows.length - 1, at + 1)),
      ArrowUp: () => move(Math.max(0, at - 1)),
      ArrowRight: () => row !== undefined && !row.isOpen && row.row.children > 0 && toggle(row),
      ArrowLeft: () => row !== undefined && (row.isOpen ? toggle(row) : move(parentOf(rows, at))),
      Enter: () => row !== undefined && showHolders(idOf(row.row.id)),
    };
    const step = steps[event.key];
    if (step !== undefined) {
      event.preventDefault();
      step();
    }
  };
  const move = (to: number) => {
    setAt(to);
    const row = rows[to];
    if (row !== undefined) {
      tell(<BranchWords row={row.row} />);
      document.querySelector(`[data-branch="${row.row.id}"]`)?.scrollIntoView({ block: "nearest" });
    }
  };
  if (error !== "") {
    return <p class="refusal" role="alert">{error}</p>;
  }
  if (rows.length === 0) {
    return <p class="soft memory-note" aria-live="polite">One moment …</p>;
  }
  return (
    <div class="tree dominators" role="tree" data-table="objects" aria-label="Dominators" tabIndex={0} onKeyDown={onKeyDown}>
      <div class="tree-head" role="presentation">
        <span>Retained</span>
        <span>Share</span>
        <span>Own</span>
        <span>Object</span>
      </div>
      {rows.map((branch, place) => (
        <Row key={branch.row.id} branch={branch} isAt={place === at} onPoint={() => move(place)} onToggle={() => toggle(branch)} onMore={() => toggle(branch, branch.row.children)} />
      ))}
    </div>
  );
}

function Row({ branch, isAt, onPoint, onToggle, onMore }: { branch: Branch; isAt: boolean; onPoint: () => void; onToggle: () => void; onMore: () => void }) {
  const { row, level, isOpen, hidden_children } = branch;
  return (
    <div role="treeitem" aria-level={level + 1} aria-expanded={row.children > 0 ? isOpen : undefined} class={isAt ? "at" : ""} data-branch={row.id} data-row={idOf(row.id)} onClick={onPoint}>
      <span class="number"><Figure row={row} is="retained_bytes" /></span>
      <span class="number">
        <Figure row={row} is="retained_share" />
        <ShareBar share={row.retained_share} />
      </span>
      <span class="number"><Figure row={row} is="bytes" /></span>
      <span class="name" style={{ paddingLeft: `${Math.min(level, 30) * 16}px` }}>
        <button type="button" class="plain twist" disabled={row.children === 0} tabIndex={-1} aria-label={isOpen ? "Close" : "Open"} onClick={onToggle}>
          {row.children === 0 ? "·" : isOpen ? "▾" : "▸"}
        </button>
        <ObjectName row={row} />
        {row.children > 0 && <i> <Figure row={row} is="children" /> below</i>}
        {isOpen && hidden_children > 0 && (
          <button type="button" class="plain" tabIndex={-1} onClick={onMore}>
            … <Figure row={branch} is="hidden_children" /> more of <Figure row={branch} is="hidden_bytes" />
          </button>
        )}
      </span>
    </div>
  );
}

function branches(rows: GraphBranch[], level: number, isOpen: boolean): Branch[] {
  return rows.map((row, at) => ({
    row,
    level: level + row.depth,
    isOpen: at === 0 && isOpen,
    hidden_children: row.hidden_children,
    hidden_bytes: row.hidden_bytes,
  }));
}

/** The rows without what is below a branch. */
function close(rows: Branch[], branch: Branch): Branch[] {
  const place = rows.indexOf(branch);
  if (place < 0) {
    return rows;
  }
  let end = place + 1;
  while (end < rows.length && rows[end].level > branch.level) {
    end += 1;
  }
  return [...rows.slice(0, place), { ...branch, isOpen: false }, ...rows.slice(end)];
}

function parentOf(rows: Branch[], at: number): number {
  let place = at;
  while (place > 0 && rows[place].level >= rows[at].level) {
    place -= 1;
  }
  return place;
}

function BranchWords({ row }: { row: GraphBranch }) {
  return (
    <span data-table="objects" data-row={idOf(row.id)}>
      <b>{objectWords(row)}</b> <bdi>{row.path ?? ""}</bdi> · <Figure row={row} is="retained_bytes" /> would go with it (<Figure row={row} is="retained_share" />) · its own{" "}
      <Figure row={row} is="bytes" /> · <Figure row={row} is="children" /> objects below
    </span>
  );
}
