// Bars for kinds of time: Python, native, system, waiting.

import { percent } from "../numbers";

const KINDS = [
  ["python", "Python"],
  ["native", "native"],
  ["system", "system"],
  ["waiting", "waiting"],
  ["unreadable", "not readable"],
] as const;

/** Shares by kind, as members of a report: `python_share`, or with a prefix `self_python_share`. */
export function kindsOf(row: object, prefix = "") {
  const members = row as Record<string, number | null | undefined>;
  return KINDS.map(([kind, name]) => ({ kind, name, share: members[`${prefix}${kind}_share`] ?? 0 })).filter(
    ({ share }) => share > 0,
  );
}

/** A bar of shares by kind. It is as long as their sum, of `most`. */
export function KindBar({ row, prefix = "", most = 1 }: { row: object; prefix?: string; most?: number }) {
  const kinds = kindsOf(row, prefix);
  const title = kinds.map(({ name, share }) => `${name} ${percent(share)}`).join(", ");
  return (
    <span class="bar" title={title} role="img" aria-label={title || "nothing"}>
      {kinds.map(({ kind, share }) => (
        <i key={kind} class={`kind-${kind}`} style={{ width: `${(100 * share) / (most || 1)}%` }} />
      ))}
    </span>
  );
}

/** The kinds with their shares in words. */
export function KindLegend({ row, prefix = "" }: { row: object; prefix?: string }) {
  return (
    <ul class="legend">
      {kindsOf(row, prefix).map(({ kind, name, share }) => (
        <li key={kind}>
          <i class={`dot kind-${kind}`} /> {name}{" "}
          <b data-number={share} data-is={`${prefix}${kind}_share`}>
            {percent(share)}
          </b>
        </li>
      ))}
    </ul>
  );
}
