// The time that no picture over time can show: the kernel counted it, and no sample came, as in
// processes that are shorter than the time between samples.

import { Figure } from "../../parts/figure";
import type { Timeline } from "./answer";

export function Unplaced({ answer }: { answer: Timeline }) {
  return answer.unplaced === 0 ? null : (
    <p class="soft" data-table="tracks" data-row="all">
      <Figure row={answer} is="unplaced" unit="time" /> more have no place in time: they were counted, and no sample came, as in processes that are shorter than the time between two samples.
    </p>
  );
}
