// What the colours of a picture mean. Files are named without their folders.

import type { ComponentChildren } from "preact";

import { base } from "../numbers";

export function Legend({ colours, children }: { colours: [name: string, colour: string][]; children?: ComponentChildren }) {
  return (
    <ul class="legend" aria-label="Colours">
      {colours.map(([name, colour]) => (
        <li key={name} title={name}>
          <i class="dot" style={{ background: colour }} /> {base(name)}
        </li>
      ))}
      {children}
    </ul>
  );
}
