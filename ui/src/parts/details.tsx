// The bar at the bottom: what the pointer or the keyboard is on, without delay and at one place.

import { useEffect, useState } from "preact/hooks";
import type { ComponentChildren } from "preact";

let shown: ComponentChildren = null;
let watch: ((n: number) => void) | undefined;
let times = 0;

/** Shows something in the bar; nothing clears it. */
export function tell(what: ComponentChildren): void {
  shown = what;
  times += 1;
  watch?.(times);
}

export function Details() {
  const [, redraw] = useState(0);
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
