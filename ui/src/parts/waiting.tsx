// What stands where an answer will be: the old one greyed, a sentence, or nothing yet.

import type { ComponentChildren } from "preact";

import type { Answer } from "../ask";
import { Words } from "./words";

/** Shows an answer once it is there. The old one stays, greyed, while a new one is awaited. */
export function Waiting<T>({ answer, children }: { answer: Answer<T>; children: (value: T) => ComponentChildren }) {
  if (answer.error !== undefined) {
    return (
      <p class="refusal" role="alert">
        <Words text={answer.error} />
      </p>
    );
  }
  if (answer.value === undefined) {
    return (
      <p class="soft" aria-live="polite">
        One moment …
      </p>
    );
  }
  return (
    <div class={answer.isOld ? "old answer" : "answer"} aria-busy={answer.isOld}>
      {children(answer.value)}
    </div>
  );
}
