// The flame graph: the shapes of one picture, or a function between its callers and its callees.

import type { AboutRecording } from "../../about";
import { isFile, useAnswer } from "../../ask";
import type { Flame } from "../../canvas/picture";
import { shared } from "../../parts/asked";
import { useLook } from "../../parts/look";
import { useSearch } from "../../parts/search";
import { Waiting } from "../../parts/waiting";
import { change, usePlace } from "../../place";
import { Drawing } from "./drawing";
import { BoxDetails } from "./details";
import { FlamePicture } from "./picture";

export { BoxDetails, Drawing, FlamePicture };

export function FlameView(_: { recording: AboutRecording }) {
  const place = usePlace();
  return place.values.function === undefined ? <FlamePicture /> : <Sandwich />;
}

/** A function between its callers, above, and its callees, below. Each side opens by itself. */
function Sandwich() {
  const place = usePlace();
  const { text, field } = useSearch();
  const question = { ...shared(place), function: place.values.function, file: place.values.file };
  const [above, below] = [{ ...question, shape: "callers" }, { ...question, shape: "callees" }];
  const [callersPath, path] = isFile ? [undefined, undefined] : [place.values.above, place.values.path];
  const callers = useAnswer<Flame>("flame", { ...above, path: callersPath });
  const callees = useAnswer<Flame>("flame", { ...below, path });
  const look = useLook();
  return (
    <section class="flame" aria-label="Callers and callees of a function">
      <div class="tools">
        <h2>{place.values.function}</h2>
        <span class="soft">its callers above, its callees below</span>
        {field}
        <button type="button" onClick={() => change({ function: "", file: "", path: "", above: "", zoom: "", zoom_above: "" })}>
          All calls
        </button>
      </div>
      <Waiting answer={callers}>
        {(flame) => <Drawing flame={flame} question={above} look={look} search={text} isIcicle={false} isSmall={false} pathName="above" />}
      </Waiting>
      <Waiting answer={callees}>{(flame) => <Drawing flame={flame} question={below} look={look} search={text} isIcicle isSmall={false} />}</Waiting>
    </section>
  );
}
