// A canvas as wide as its place, that draws itself with each change.

import { useEffect, useRef, useState } from "preact/hooks";

import type { Brush, Span } from "../canvas/strip";
import { useDark } from "./dark";

export function Strip({ height, window, label, draw }: { height: number; window: Span; label: string; draw: (brush: Brush) => void }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const [width, setWidth] = useState(0);
  const isDark = useDark();
  useEffect(() => {
    const element = canvas.current?.parentElement;
    if (element === null || element === undefined) {
      return;
    }
    const observer = new ResizeObserver(() => setWidth(element.clientWidth));
    observer.observe(element);
    setWidth(element.clientWidth);
    return () => observer.disconnect();
  }, []);
  useEffect(() => {
    const element = canvas.current;
    const context = element?.getContext("2d") ?? null;
    if (element === null || context === null || width === 0) {
      return;
    }
    const scale = devicePixelRatio || 1;
    element.width = Math.round(width * scale);
    element.height = Math.round(height * scale);
    context.setTransform(scale, 0, 0, scale, 0, 0);
    draw({ context, width, height, window, isDark, ink: getComputedStyle(element).color });
  }, [draw, window.from, window.to, width, height, isDark]);
  return <canvas ref={canvas} class="strip" role="img" aria-label={label} style={{ width: "100%", height: `${height}px` }} />;
}
