// The shares of a box of a picture, its own and with what it calls, with their ranges: as answers to
// `share` and `graph` have them.

import { Ends } from "./figure";

export interface Shares {
  self_weight: number;
  self_share: number;
  self_share_low: number | null;
  self_share_high: number | null;
  total_weight: number;
  total_share: number;
  total_share_low: number | null;
  total_share_high: number | null;
}

/** The range of a share, behind it: 95 of 100 such ranges hold the true one. What was counted has none. */
export function ShareRange({ row, is }: { row: object | undefined; is: string }) {
  const members = (row ?? {}) as Record<string, number | null | undefined>;
  const [low, high] = [members[`${is}_low`] ?? null, members[`${is}_high`] ?? null];
  return row === undefined || low === null || high === null || low === high ? null : (
    <span class="soft" title="95 of 100 such ranges hold the true share">
      {": "}
      <Ends row={row} is={is} />
    </span>
  );
}
