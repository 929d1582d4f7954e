// The callers above the box that was zoomed into: crumbs that lead back.

import { NARROW, ROOT, type Flame } from "../../canvas/picture";
import { Figure } from "../../parts/figure";
import { change } from "../../place";

export function Callers({ flame, pathName = "path" }: { flame: Flame; pathName?: string }) {
  const { callers, functions } = flame;
  const isZoomed = callers.level.length > 0 || (flame.boxes.function.length > 0 && flame.boxes.function[0] !== ROOT);
  // A picture of the callers or the callees of one function begins with it.
  const isNarrow = flame.boxes.function[0] === NARROW;
  if (!isZoomed || (callers.level.length === 0 && !isNarrow && flame.boxes.weight[0] === flame.total)) {
    return null;
  }
  return (
    <nav class="callers" aria-label="Callers of what is shown">
      <button type="button" class="plain" onClick={() => change({ [pathName]: "" })}>
        all
      </button>
      {callers.function.map((row, at) => (
        <button key={at} type="button" class="plain" onClick={() => change({ [pathName]: String(callers.path[at]) })}>
          {functions.name[row]}
        </button>
      ))}
      {flame.boxes.function[0] >= 0 && <span class="soft">{functions.name[flame.boxes.function[0]]}</span>}
      {flame.boxes.function[0] === NARROW && <span class="soft" data-table="boxes" data-row={String(flame.boxes.path[0])}><Figure row={{ narrow: flame.boxes.line[0] }} is="narrow" /> that were too narrow</span>}
    </nav>
  );
}
