// The parts of the summary. Each is a question of its own, so that what is known first is shown first,
// and the slowest holds nothing up. Their members are those of the whole summary.

import { useAnswer, type Answer } from "../../ask";
import { shared } from "../../parts/asked";
import { usePlace } from "../../place";
import type { Summary } from "../../reports";

/** What every part begins with. */
export type Part = Pick<Summary, "recording" | "selection">;

/** Asks for parts of the summary, as soon as that is wanted. */
export function useSummary<Key extends keyof Summary>(parts: string, isWanted = true): Answer<Part & Pick<Summary, Key>> {
  const place = usePlace();
  return useAnswer<Part & Pick<Summary, Key>>(isWanted ? "report" : undefined, { ...shared(place), what: "summary", parts });
}
