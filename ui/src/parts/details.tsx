// The bar at the bottom: what the pointer or the keyboard is on, without delay and at one place.

import { useEffect, useState } from "preact/hooks";
import type { ComponentChildren } from "preact";

import { usePlace } from "../place";

let shown: ComponentChildren = null;
let watch: ((n: number) => void) | undefined;
let times = 0;

/** What the views show: what was told of something else is no more true. */
let about = "";

/** Shows something in the bar. It stays until the view or the filter is another one. */
export function tell(what: ComponentChildren): void {
  shown = what;
  times += 1;
  watch?.(times);
}

export function Details() {
  const [, redraw] = useState(0);
  const { view, values } = usePlace();
  const now = [view, values.filter, values.of, values.count, values.recording].join("\n");
  if (now !== about) {
    [about, shown] = [now, null];
  }
  useEffect(() => {
    watch = redraw;
    return () => {
      watch = undefined;
    };
  }, []);
  return (
    <footer class="details" aria-live="polite">
      {shown ?? (
        <span class="soft">
          Point at something to see its numbers. <kbd>?</kbd> shows the keys.
        </span>
      )}
    </footer>
  );
}
