// What a file leaves out: said on the page, so that nobody takes a part for the whole.

import { isAnswered, isFile, useAnswer } from "../ask";

/** The answer that only a file carries. */
interface Left {
  /** Sentences. */
  left_out: string[];
}

export function Offline() {
  const answer = useAnswer<Left>(isFile && isAnswered("offline") ? "offline" : undefined);
  const left = answer.value?.left_out ?? [];
  if (left.length === 0) {
    return null;
  }
  return (
    <details class="left-out">
      <summary>{left.length === 1 ? left[0] : `${left.length} things are left out of this file`}</summary>
      {left.length > 1 && (
        <ul>
          {left.map((text) => (
            <li key={text}>{text}</li>
          ))}
        </ul>
      )}
    </details>
  );
}
