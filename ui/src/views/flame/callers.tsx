// The callers above the box that was opened: crumbs that lead back.

import { useState } from "preact/hooks";

import { nameOf, NARROW, ROOT, type Flame, type Picture } from "../../canvas/picture";
import { Figure } from "../../parts/figure";
import { change } from "../../place";
import { zoomNameOf } from "./zoom";

/** The most crumbs at first, and those of them that stand at the root. */
const MOST = 40;
const OUTER = 8;

/** The crumbs. A box within the picture may be what is open: `root` is its place there. */
export function Callers({ flame, isOpen, pathName = "path", picture, root = 0 }: { flame: Flame; isOpen: boolean; pathName?: string; picture?: Picture; root?: number }) {
  const { callers, functions, boxes } = flame;
  const [isWhole, setWhole] = useState(false);
  if (!isOpen || boxes.function[root] === ROOT) {
    return null;
  }
  const crumbs = callers.function.map((row, at): [string, number] => [functions.name[row], callers.path[at]]);
  const within: [string, number][] = [];
  for (let at = picture?.parent[root] ?? -1; picture !== undefined && at > 0; at = picture.parent[at]) {
    within.push([nameOf(picture, at), boxes.path[at]]);
  }
  const all = [...crumbs, ...within.reverse()];
  const isCut = !isWhole && all.length > MOST;
  const [first, last] = isCut ? [all.slice(0, OUTER), all.slice(OUTER - MOST)] : [all, []];
  const go = (path: string) => change({ [pathName]: path, [zoomNameOf(pathName)]: "" });
  const crumb = ([name, path]: [string, number], at: number) => (
    <button key={at} type="button" class="plain" onClick={() => go(String(path))}>
      {name}
    </button>
  );
  return (
    <nav class="callers" aria-label="Callers of what is shown">
      <button type="button" class="plain" onClick={() => go("")}>
        all
      </button>
      {first.map(crumb)}
      {isCut && (
        <button type="button" class="plain" title="Show the callers between these" onClick={() => setWhole(true)}>
          …
        </button>
      )}
      {last.map(crumb)}
      {boxes.function[root] >= 0 && <span class="soft">{functions.name[boxes.function[root]]}</span>}
      {boxes.function[root] === NARROW && <span class="soft" data-table="boxes" data-row={String(boxes.path[root])}><Figure row={{ narrow: boxes.line[root] }} is="narrow" /> that were too narrow</span>}
    </nav>
  );
}
