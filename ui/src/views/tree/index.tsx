// The calls as a tree of rows, from the root or from the functions that run. A branch is opened on
// demand; the hottest path opens at once. What is done with a function is a term of the filter.

import type { AboutRecording } from "../../about";
import { isFile, useAnswer } from "../../ask";
import type { Flame } from "../../canvas/picture";
import { shared } from "../../parts/asked";
import { Waiting } from "../../parts/waiting";
import { change, usePlace } from "../../place";
import { Callers } from "../flame/callers";
import { Tree } from "./tree";

export function TreeView(_: { recording: AboutRecording }) {
  const place = usePlace();
  const isInverted = place.values.shape === "inverted";
  const isFolded = place.values.libraries === "folded";
  const path = isFile || isInverted ? undefined : place.values.path;
  const answer = useAnswer<Flame>("flame", {
    ...shared(place),
    path,
    ...(isInverted ? { shape: "inverted" } : { order: "widest" }),
  });
  return (
    <section class="flame" aria-label="Tree of calls">
      <Waiting answer={answer}>
        {(flame) => (
          <Tree key={`${isInverted} ${path ?? ""}`} flame={flame} isInverted={isInverted} isFolded={isFolded} above={<Callers flame={flame} isOpen={path !== undefined} />}>
            <label>
              <input
                type="checkbox"
                checked={isInverted}
                onChange={(event) => change({ shape: event.currentTarget.checked ? "inverted" : "", path: "" })}
              />{" "}
              from the functions that run
            </label>
            <label>
              <input
                type="checkbox"
                checked={isFolded}
                onChange={(event) => change({ libraries: event.currentTarget.checked ? "folded" : "" })}
              />{" "}
              fold libraries
            </label>
            {path !== undefined && (
              <button type="button" onClick={() => change({ path: "" })}>
                The whole tree
              </button>
            )}
          </Tree>
        )}
      </Waiting>
    </section>
  );
}
