// What the bar says of a box: its function, its place, its total and its own, and their ranges.

import { useEffect, useState } from "preact/hooks";

import { isFile, useAnswer, type Values } from "../../ask";
import { nameOf, NARROW, placeOf, type Flame, type Picture } from "../../canvas/picture";
import { Figure } from "../../parts/figure";
import { ShareRange, type Shares } from "../../parts/shares";

/** The answer to `share`. */
interface Share extends Shares {
  is_exact: boolean;
}

/** How long the pointer rests on a box before its range is asked for, in milliseconds. */
const REST = 120;

/** The amounts of a box, as a row. */
export function rowOf({ boxes, total }: Flame, at: number) {
  const all = total || 1;
  return { weight: boxes.weight[at], own: boxes.own[at], count: boxes.count[at], share: boxes.weight[at] / all, own_share: boxes.own[at] / all };
}

export function BoxDetails({ picture, at, question }: { picture: Picture; at: number; question?: Values }) {
  const { boxes, flame } = picture;
  const row = rowOf(flame, at);
  const place = placeOf(picture, at);
  const isNarrow = boxes.function[at] === NARROW;
  // With callers on top, what ends in a box is the root of a stack.
  const hasSelf = question?.shape !== "inverted" && question?.shape !== "callers";
  const isAsked = !isNarrow && boxes.function[at] >= 0 && question !== undefined && !isFile;
  const range = useShare(isAsked ? question : undefined, boxes.path[at]);
  return (
    <span data-table="boxes" data-row={String(boxes.path[at])}>
      <b>{nameOf(picture, at)}</b> · total <Figure row={row} is="weight" unit={flame.unit} /> (<Figure row={row} is="share" />
      <ShareRange row={range} is="total_share" />)
      {hasSelf && (
        <>
          {" "}
          · self <Figure row={row} is="own" unit={flame.unit} /> (<Figure row={row} is="own_share" />
          <ShareRange row={range} is="self_share" />)
        </>
      )}
      {row.count > 0 && <> · <Figure row={row} is="count" /> {row.count === 1 ? "sample" : "samples"}</>}
      {isNarrow && " · too narrow to be seen: a click opens them"}
      {place !== "" && <> · <bdi>{place}</bdi></>}
    </span>
  );
}

/** The shares of a box with their ranges, once the reader rests on it. What was counted has no range. */
function useShare(question: Values | undefined, path: number): Share | undefined {
  const [rested, setRested] = useState(-1);
  useEffect(() => {
    const timer = setTimeout(() => setRested(path), REST);
    return () => clearTimeout(timer);
  }, [path]);
  const { value, isOld } = useAnswer<Share>(question !== undefined && rested === path ? "share" : undefined, { ...question, path });
  return question === undefined || rested !== path || isOld || value?.is_exact === true ? undefined : value;
}
