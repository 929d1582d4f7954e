// Amounts over time: curves on one axis, with a moment that can be chosen by pointer or by keys.

import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";

import { bytes, duration } from "../numbers";
import { useDark } from "./dark";

export interface Curve {
  title: string;
  /** A value for each time; `null` where it is not known. */
  values: (number | null)[];
  isFilled?: boolean;
  /** Whether it is read more seldom than the others, so that its points are joined. */
  isSeldom?: boolean;
}

/** Colours that colour-blind readers can tell apart, for light and for dark pages. */
const COLOURS: [string, string][] = [
  ["#2f6fd0", "#6aa5f8"],
  ["#b4530a", "#f0a35a"],
  ["#0b7a5b", "#4fc79d"],
  ["#8a3ffc", "#c4a1ff"],
  ["#9a1a4a", "#f08fb4"],
  ["#556070", "#a3afbd"],
];

export function Series({
  times,
  curves,
  at,
  onChoose,
  label,
  height = 200,
}: {
  times: number[];
  curves: Curve[];
  /** The chosen moment. */
  at?: number;
  onChoose: (seconds: number) => void;
  label: string;
  height?: number;
}) {
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | undefined>(undefined);
  const chosen = useRef(at);
  const cursor = useRef(-1);
  const choose = useRef(onChoose);
  chosen.current = at;
  choose.current = onChoose;
  const isDark = useDark();
  useEffect(() => {
    const element = box.current;
    if (element === null) {
      return;
    }
    const style = getComputedStyle(document.body);
    const soft = isDark ? "#a3afbd" : "#556070";
    const line = isDark ? "#333b44" : "#d5dae0";
    const axis = { stroke: soft, grid: { stroke: line, width: 1 }, ticks: { stroke: line, width: 1 }, font: "12px system-ui, sans-serif" };
    const made = new uPlot(
      {
        width: element.clientWidth,
        height,
        scales: { x: { time: false } },
        cursor: { drag: { x: false, y: false }, points: { size: 6 } },
        legend: { live: true },
        axes: [
          { ...axis, size: 34, values: (_, marks) => marks.map((mark) => duration(mark)) },
          { ...axis, size: 76, values: (_, marks) => marks.map((mark) => bytes(mark)) },
        ],
        series: [
          { label: "at", value: (_, value) => (value === null || value === undefined ? "–" : duration(value)) },
          ...curves.map(({ title, isFilled, isSeldom }, number): uPlot.Series => {
            const colour = COLOURS[number % COLOURS.length][isDark ? 1 : 0];
            return {
              label: title,
              stroke: colour,
              fill: isFilled ? `${colour}22` : undefined,
              width: 1.5,
              spanGaps: isSeldom === true,
              points: { show: times.length < 2 },
              value: (_, value) => (value === null || value === undefined ? "–" : bytes(value)),
            };
          }),
        ],
        hooks: {
          draw: [
            (plot) => {
              if (chosen.current === undefined) {
                return;
              }
              const x = Math.round(plot.valToPos(chosen.current, "x", true));
              const { ctx, bbox } = plot;
              ctx.save();
              ctx.strokeStyle = style.color;
              ctx.lineWidth = 2;
              ctx.setLineDash([5, 3]);
              ctx.beginPath();
              ctx.moveTo(x, bbox.top);
              ctx.lineTo(x, bbox.top + bbox.height);
              ctx.stroke();
              ctx.restore();
            },
          ],
          setCursor: [
            (plot) => {
              cursor.current = plot.cursor.idx ?? -1;
            },
          ],
        },
      },
      [times, ...curves.map(({ values }) => values)],
      element,
    );
    made.over.addEventListener("click", () => {
      const left = made.cursor.left ?? -1;
      if (left >= 0) {
        choose.current(Math.max(0, made.posToVal(left, "x")));
      }
    });
    plot.current = made;
    const observer = new ResizeObserver(() => {
      if (element.clientWidth > 0) {
        made.setSize({ width: element.clientWidth, height });
      }
    });
    observer.observe(element);
    return () => {
      observer.disconnect();
      made.destroy();
      plot.current = undefined;
    };
  }, [times, curves, isDark, height]);
  useEffect(() => plot.current?.redraw(false), [at]);
  const onKeyDown = (event: KeyboardEvent) => {
    const made = plot.current;
    const steps: Record<string, number> = { ArrowLeft: -1, ArrowRight: 1, PageUp: -10, PageDown: 10, Home: -Infinity, End: Infinity };
    if (made === undefined || times.length === 0) {
      return;
    }
    if (event.key in steps) {
      event.preventDefault();
      const next = Math.max(0, Math.min(times.length - 1, cursor.current + steps[event.key]));
      cursor.current = next;
      made.setCursor({ left: made.valToPos(times[next], "x"), top: 10 });
    } else if (event.key === "Enter" && cursor.current >= 0) {
      onChoose(times[cursor.current]);
    }
  };
  return (
    <div
      class="series"
      ref={box}
      tabIndex={0}
      role="application"
      aria-label={`${label}. Left and right go through the moments, Enter chooses one. The table below has the same numbers.`}
      onKeyDown={onKeyDown}
    />
  );
}
