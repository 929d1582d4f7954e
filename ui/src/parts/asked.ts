// The part of a question that all views share: the filter, and time or memory.

import type { Values } from "../ask";
import type { Place } from "../place";

/** The shared values of a place. */
export function shared(place: Place): Values {
  const { filter, of, count, recording, mine, runtime } = place.values;
  // A moment belongs to what was live then.
  const at = of === "live" ? place.values.at : undefined;
  return { filter, of, count, recording, mine, runtime, at };
}
