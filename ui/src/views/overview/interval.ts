// The interval of a share, which many views show beside it.

import { percent } from "../../numbers";

/** A share with its interval, in words. */
export function interval(row: { self_share_low: number | null; self_share_high: number | null }): string {
  return row.self_share_low === null || row.self_share_high === null
    ? ""
    : `${percent(row.self_share_low)} to ${percent(row.self_share_high)}`;
}
