// Two spans of a heatmap: what the second has more or less of than the first, and how sure that is. The
// comparison is the one that two recordings have, with the times of the spans as filters.

import { useAnswer } from "../../ask";
import type { DiffFlame } from "../../canvas/changes";
import type { Span } from "../../canvas/strip";
import { shared } from "../../parts/asked";
import { useSearch } from "../../parts/search";
import { Waiting } from "../../parts/waiting";
import { Words } from "../../parts/words";
import { change, usePlace } from "../../place";
import type { Diff } from "../../reports";
import { withTimes } from "../../terms";
import { Changes } from "../changes";
import { DiffDrawing, scaleOf } from "../compare";
import { chooseSpans, timesIn, wordsOf } from "./chosen";

export function Difference({ before, after }: { before: Span; after: Span }) {
  const place = usePlace();
  const { text, field } = useSearch();
  const filter = place.values.filter ?? "";
  const question = { ...shared(place), filter: withTimes(filter, before), after: withTimes(filter, after) };
  const diff = useAnswer<Diff>("diff", { ...question, all: true, limit: 500 });
  const flame = useAnswer<DiffFlame>("diff_flame", { ...question, path: place.values.path });
  const title = `${wordsOf(before)} against ${wordsOf(after)}`;
  return (
    <>
      <section class="flame small card" aria-label={`Flame graph of the difference: ${title}`}>
        <div class="tools">
          <h2>
            <span title={`A is from ${timesIn(before)}, B from ${timesIn(after)}`}>
              A, {wordsOf(before)}, against B, {wordsOf(after)}
            </span>
          </h2>
          <button type="button" onClick={() => chooseSpans([after, before])}>
            Swap A and B
          </button>
          {field}
          {place.values.path !== undefined && (
            <button type="button" onClick={() => change({ path: "", zoom: "" })}>
              Zoom out
            </button>
          )}
        </div>
        <Waiting answer={diff}>
          {(diff) => (
            <>
              <p class="verdict first">
                <Words text={diff.verdict} />
              </p>
              <p class="soft quality" data-table="difference" data-row="all">
                Before is A, after is B. {scaleOf(diff)}
              </p>
            </>
          )}
        </Waiting>
        <Waiting answer={flame}>{(flame) => <DiffDrawing flame={flame} search={text} />}</Waiting>
      </section>
      <Waiting answer={diff}>{(diff) => <Changes diff={diff} question={question} />}</Waiting>
    </>
  );
}
