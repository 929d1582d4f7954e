// What the colours of a picture mean.

import type { ComponentChildren } from "preact";

export function Legend({ colours, children }: { colours: [name: string, colour: string][]; children?: ComponentChildren }) {
  return (
    <ul class="legend" aria-label="Colours">
      {colours.map(([name, colour]) => (
        <li key={name}>
          <i class="dot" style={{ background: colour }} /> {name}
        </li>
      ))}
      {children}
    </ul>
  );
}
