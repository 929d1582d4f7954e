// Whether libraries are folded in a picture of calls: the first function of a library stands for all
// that it calls there.

import { isFile } from "../ask";
import { change, usePlace } from "../place";

/** The choice. An offline file has the calls as they are. */
export function FoldChoice() {
  const { libraries } = usePlace().values;
  if (isFile) {
    return null;
  }
  return (
    <label>
      <input
        type="checkbox"
        checked={libraries === "folded"}
        onChange={(event) => change({ libraries: event.currentTarget.checked ? "folded" : "", path: "", zoom: "" })}
      />{" "}
      fold libraries
    </label>
  );
}
