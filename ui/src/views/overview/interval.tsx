// The interval of a share, which many views show beside it.

import { percent } from "../../numbers";
import { Figure } from "../../parts/figure";

/** A share with its interval, in words. */
export function interval(row: { self_share_low: number | null; self_share_high: number | null }): string {
  return row.self_share_low === null || row.self_share_high === null
    ? ""
    : `${percent(row.self_share_low)} to ${percent(row.self_share_high)}`;
}

/** The interval of a share, behind it. */
export function Interval({ row }: { row: { self_share_low: number | null; self_share_high: number | null } }) {
  return row.self_share_low === null || row.self_share_high === null ? null : (
    <>, <Figure row={row} is="self_share_low" /> to <Figure row={row} is="self_share_high" /></>
  );
}
