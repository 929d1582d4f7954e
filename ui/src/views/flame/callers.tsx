// The callers above the box that was zoomed into: crumbs that lead back.

import { ROOT, type Flame } from "../../canvas/picture";
import { change } from "../../place";

export function Callers({ flame, pathName = "path" }: { flame: Flame; pathName?: string }) {
  const { callers, functions } = flame;
  const isZoomed = callers.level.length > 0 || (flame.boxes.function.length > 0 && flame.boxes.function[0] !== ROOT);
  // A picture of the callers or the callees of one function begins with it.
  if (!isZoomed || (callers.level.length === 0 && flame.boxes.weight[0] === flame.total)) {
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
    </nav>
  );
}
