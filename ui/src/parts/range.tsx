// A figure of a report, with the ends of its range where it is an estimate.

import { bytes, count } from "../numbers";

/** The range of a figure in words: 95 of 100 such ranges hold the true value. Exact figures have none. */
export function range(row: object, key: string, isCount = false): string {
  const members = row as Record<string, number | null | undefined>;
  const [low, high] = [members[`${key}_low`], members[`${key}_high`]];
  const words = isCount ? count : bytes;
  return low === undefined || low === null || high === undefined || high === null ? "" : `${words(low)} – ${words(high)}`;
}

/** Bytes, with their range on request. Nothing is shown for none. */
export function Bytes({ row, name }: { row: object; name: string }) {
  const value = (row as Record<string, number>)[name] ?? 0;
  const ends = range(row, name);
  if (value === 0) {
    return <span data-number={0} data-is={name} />;
  }
  return (
    <span data-number={value} data-is={name} title={ends === "" ? "exact" : `95 % range: ${ends}`}>
      {bytes(value)}
    </span>
  );
}

/** A bar of one share. */
export function ShareBar({ share, of = 1 }: { share: number; of?: number }) {
  return (
    <span class="bar" aria-hidden="true">
      <i class="amount" style={{ width: `${Math.min(100, (100 * share) / (of || 1))}%` }} />
    </span>
  );
}
