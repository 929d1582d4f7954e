// The field that searches in a picture. Its text stands in the address of the page, and what is typed
// in one go is one step back.

import type { JSX } from "preact";
import { useRef } from "preact/hooks";

import { change, usePlace } from "../place";

export function useSearch(): { text: string; field: JSX.Element } {
  const place = usePlace();
  const isTyping = useRef(false);
  const text = place.values.search ?? "";
  const field = (
    <label>
      Search{" "}
      <input
        type="search"
        data-search
        value={text}
        spellcheck={false}
        onInput={(event) => {
          change({ search: event.currentTarget.value }, !isTyping.current);
          isTyping.current = true;
        }}
        onChange={() => (isTyping.current = false)}
        onBlur={() => (isTyping.current = false)}
      />
    </label>
  );
  return { text, field };
}
