// What the colours of a picture say, which its reader chooses, and the same for every picture of calls.

import { LOOKS, type Look } from "../canvas/colours";
import { change, usePlace } from "../place";

const LOOK_WORDS: Record<Look, string> = { kind: "kind of code", package: "package", file: "file", heat: "own time" };

/** The chosen colours. */
export function useLook(): Look {
  const { look } = usePlace().values;
  return LOOKS.find((one) => one === look) ?? "kind";
}

/** The choice. */
export function LookChoice() {
  const chosen = useLook();
  return (
    <label>
      Colours{" "}
      <select value={chosen} onChange={(event) => change({ look: event.currentTarget.value }, false)}>
        {LOOKS.map((look) => (
          <option key={look} value={look}>
            {LOOK_WORDS[look]}
          </option>
        ))}
      </select>
    </label>
  );
}
