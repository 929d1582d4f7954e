// The legend of activities: a swatch with its pattern, a word, and how much time it has.

import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";

import { ACTIVITIES, fillOf } from "../canvas/activities";
import { useDark } from "./dark";
import { Figure } from "./figure";

const [WIDTH, HEIGHT] = [18, 12];

export function Swatch({ name }: { name: string }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const isDark = useDark();
  useEffect(() => {
    const element = canvas.current;
    const context = element?.getContext("2d") ?? null;
    if (element === null || context === null) {
      return;
    }
    const scale = devicePixelRatio || 1;
    element.width = WIDTH * scale;
    element.height = HEIGHT * scale;
    context.setTransform(scale, 0, 0, scale, 0, 0);
    context.fillStyle = fillOf(context, name, isDark);
    context.fillRect(0, 0, WIDTH, HEIGHT);
  }, [name, isDark]);
  return <canvas ref={canvas} class="swatch" aria-hidden="true" style={{ width: `${WIDTH}px`, height: `${HEIGHT}px` }} />;
}

/** The activities that have any time. */
export function ActivityLegend({ times, isBlankNamed = false, children }: { times: Record<string, number>; isBlankNamed?: boolean; children?: ComponentChildren }) {
  return (
    <ul class="legend" aria-label="Activities" data-table="times" data-row="all">
      {Object.entries(ACTIVITIES)
        .filter(([name]) => (times[name] ?? 0) > 0)
        .map(([name, { title, about }]) => (
          <li key={name} title={about}>
            <Swatch name={name} /> {title} <b><Figure row={times} is={name} unit="time" /></b>
          </li>
        ))}
      {isBlankNamed && (
        <li title={ACTIVITIES.none.about}>
          <i class="blank" /> {ACTIVITIES.none.title}
        </li>
      )}
      {children}
    </ul>
  );
}
