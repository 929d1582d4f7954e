// What the bar says of a box: its function, its place, its total and its own, and their ranges.

import { useEffect, useState } from "preact/hooks";

import { isFile, useAnswer, type Values } from "../../ask";
import { nameOf, NARROW, placeOf, type Picture } from "../../canvas/picture";
import { count, percent, weight } from "../../numbers";

/** The answer to `share`. */
export interface Share {
  self_weight: number;
  self_share: number;
  self_share_low: number | null;
  self_share_high: number | null;
  total_weight: number;
  total_share: number;
  total_share_low: number | null;
  total_share_high: number | null;
  is_exact: boolean;
}

/** How long the pointer rests on a box before its range is asked for, in milliseconds. */
const REST = 120;

export function BoxDetails({ picture, at, question }: { picture: Picture; at: number; question?: Values }) {
  const { boxes, flame } = picture;
  const all = flame.total || 1;
  const own = boxes.own[at];
  const place = placeOf(picture, at);
  const isNarrow = boxes.function[at] === NARROW;
  // With callers on top, what ends in a box is the root of a stack.
  const hasSelf = question?.shape !== "inverted" && question?.shape !== "callers";
  const isAsked = !isNarrow && boxes.function[at] >= 0 && question !== undefined && !isFile;
  const range = useShare(isAsked ? question : undefined, boxes.path[at]);
  const part = (is: string, value: number, text: string) => (
    <span data-number={value} data-is={is} data-unit={is === "weight" || is === "own" ? flame.unit : undefined}>{text}</span>
  );
  return (
    <span data-table="boxes" data-row={String(boxes.path[at])}>
      <b>{nameOf(picture, at)}</b> · total {part("weight", boxes.weight[at], weight(boxes.weight[at], flame.unit))} (
      {part("share", boxes.weight[at] / all, percent(boxes.weight[at] / all))}
      <Range row={range} is="total_share" />)
      {hasSelf && (
        <>
          {" "}
          · self {part("own", own, weight(own, flame.unit))} ({part("own_share", own / all, percent(own / all))}
          <Range row={range} is="self_share" />)
        </>
      )}
      {boxes.count[at] > 0 && <> · {part("count", boxes.count[at], count(boxes.count[at]))} {boxes.count[at] === 1 ? "sample" : "samples"}</>}
      {isNarrow && " · too narrow to be seen: a click opens them"}
      {place !== "" && <> · <bdi>{place}</bdi></>}
    </span>
  );
}

/** The shares of a box with their ranges, once the reader rests on it. */
function useShare(question: Values | undefined, path: number): Share | undefined {
  const [rested, setRested] = useState(-1);
  useEffect(() => {
    const timer = setTimeout(() => setRested(path), REST);
    return () => clearTimeout(timer);
  }, [path]);
  const { value, isOld } = useAnswer<Share>(question !== undefined && rested === path ? "share" : undefined, { ...question, path });
  return question === undefined || rested !== path || isOld ? undefined : value;
}

/** The range of a share, behind it: 95 of 100 such ranges hold the true one. */
function Range({ row, is }: { row: Share | undefined; is: "total_share" | "self_share" }) {
  const [low, high] = [row?.[`${is}_low`], row?.[`${is}_high`]];
  if (row === undefined || low === null || low === undefined || high === null || high === undefined || row.is_exact) {
    return null;
  }
  return (
    <span class="soft" title="95 of 100 such ranges hold the true share">
      {": "}
      <span data-number={low} data-is={`${is}_low`}>{percent(low)}</span> to <span data-number={high} data-is={`${is}_high`}>{percent(high)}</span>
    </span>
  );
}
