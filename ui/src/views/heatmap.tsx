// The heatmap: time against the offset within each second, or minute. What recurs in step with the
// clock is a pattern, and a pause is a gap. A chosen square has its flame graph below.

import { Fragment } from "preact";
import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";

import type { AboutRecording } from "../about";
import { isFile, useAnswer } from "../ask";
import { cellsOf, HeatCanvas, squareAt, timesOf, type Heatmap } from "../canvas/heat";
import type { Span } from "../canvas/strip";
import { count, duration } from "../numbers";
import { shared } from "../parts/asked";
import { useDark } from "../parts/dark";
import { tell } from "../parts/details";
import { Figure } from "../parts/figure";
import { Waiting } from "../parts/waiting";
import { change, usePlace } from "../place";
import { secondsOf, withTimes } from "../terms";
import { FlamePicture } from "./flame";
import { timeless } from "./timeline";

const COLUMNS: [nanoseconds: string, title: string][] = [
  ["", "fitting"],
  ["100000000", "0.1 s"],
  ["1000000000", "second"],
  ["10000000000", "10 seconds"],
  ["60000000000", "minute"],
  ["3600000000000", "hour"],
];

export function HeatmapView({ recording }: { recording: AboutRecording }) {
  const place = usePlace();
  const answer = useAnswer<Heatmap>("heatmap", { ...timeless(shared(place)), column: place.values.column });
  return (
    <section class="heatmap" aria-label="Heatmap">
      <div class="tools">
        {!isFile && (
          <label>
            A column is a{" "}
            <select value={place.values.column ?? ""} onChange={(event) => change({ column: event.currentTarget.value, squares: "" })}>
              {COLUMNS.map(([value, title]) => (
                <option key={value} value={value}>
                  {title}
                </option>
              ))}
            </select>
          </label>
        )}
        {recording.has.waits && (
          <label>
            Shown{" "}
            <select value={place.values.shown ?? "busy"} onChange={(event) => change({ shown: event.currentTarget.value === "busy" ? "" : "waiting" }, false)}>
              <option value="busy">time on a CPU</option>
              <option value="waiting">waits</option>
            </select>
          </label>
        )}
        <span class="soft hint">Choose a square, or drag over several, to see their calls. Ctrl adds a second choice.</span>
      </div>
      <Waiting answer={answer}>{(map) => <Squares map={map} />}</Waiting>
    </section>
  );
}

function squaresOf(text: string | undefined): Span[] {
  const pairs = (text ?? "").split(",").map((pair) => pair.split("-").map(Number));
  return pairs.filter(([from, to]) => to > from).map(([from, to]) => ({ from, to })).slice(0, 2);
}

function Squares({ map }: { map: Heatmap }) {
  const place = usePlace();
  const box = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const drawing = useRef<HeatCanvas | undefined>(undefined);
  const [cursor, setCursor] = useState(-1);
  // The square where a choice of several began; -1 for none.
  const [anchor, setAnchor] = useState(-1);
  const isDark = useDark();
  const values = place.values.shown === "waiting" ? map.waiting : map.busy;
  const chosen = squaresOf(place.values.squares);
  const most = useMemo(() => values.reduce((most, value) => Math.max(most, value), 0), [values]);

  // What is on the screen is what a press finds: all of this is done before the next frame.
  useLayoutEffect(() => {
    if (canvas.current === null || box.current === null) {
      return;
    }
    const made = new HeatCanvas(canvas.current);
    drawing.current = made;
    const element = box.current;
    const fit = () => made.resize(element.clientWidth, element.clientHeight);
    fit();
    const observer = new ResizeObserver(fit);
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  useLayoutEffect(() => {
    const style = getComputedStyle(document.body);
    drawing.current?.show({ map, values, most, isDark, cursor, anchor, chosen, ink: style.color, ground: style.backgroundColor });
  }, [map, values, isDark, cursor, anchor, place.values.squares]);

  const about = (cell: number) => {
    if (cell < 0) {
      return;
    }
    const { from, to } = timesOf(map, cell);
    const row = { busy: map.busy[cell], waiting: map.waiting[cell], samples: map.samples[cell], hottest_time: map.hottest_time[cell] };
    const name = map.functions[map.hottest[cell]];
    tell(
      <span data-table="squares" data-row={String(cell)}>
        <b>{`${secondsOf(from)} to ${secondsOf(to)} s`}</b> · on a CPU <Figure row={row} is="busy" unit="time" />
        {row.waiting > 0 && <> · waiting <Figure row={row} is="waiting" unit="time" /></>} · <Figure row={row} is="samples" /> {row.samples === 1 ? "sample ends" : "samples end"} in it
        {name !== undefined && (
          <>
            {" "}
            · most in <b>{name}</b> (<Figure row={row} is="hottest_time" unit="time" />)
          </>
        )}
      </span>,
    );
  };
  /** Chooses the time from one square to another. */
  const choose = (first: number, last: number, isSecond: boolean) => {
    const span = { from: timesOf(map, Math.min(first, last)).from, to: timesOf(map, Math.max(first, last)).to };
    const other = isSecond && chosen[0] !== undefined && chosen[0].from !== span.from ? [chosen[0]] : [];
    const squares = [...other, span];
    change({ squares: squares.map(({ from, to }) => `${from}-${to}`).join(","), path: "" });
  };
  const cellAt = (event: PointerEvent) => squareAt(map, event.offsetX, event.offsetY, drawing.current?.size ?? { width: 1, height: 1 });
  const onKeyDown = (event: KeyboardEvent) => {
    const at = cursor < 0 ? 0 : cursor;
    const moves: Record<string, number> = { ArrowUp: 1, ArrowDown: -1, ArrowRight: map.rows, ArrowLeft: -map.rows };
    if (event.key in moves) {
      event.preventDefault();
      const next = at + moves[event.key];
      if (next >= 0 && next < map.columns * map.rows) {
        setAnchor(event.shiftKey ? (anchor < 0 ? at : anchor) : -1);
        setCursor(next);
        about(next);
      }
    } else if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      choose(event.shiftKey && anchor >= 0 ? anchor : at, at, event.key === " " || event.ctrlKey);
      setAnchor(-1);
    } else if (event.key === "Escape") {
      change({ squares: "" });
    }
  };
  return (
    <>
      <div class="picture heat" ref={box}>
        <canvas
          ref={canvas}
          tabIndex={0}
          role="application"
          aria-label={`Heatmap of ${count(map.columns)} columns of ${duration(map.column / 1e9)} with ${count(map.rows)} squares each. Arrow keys move, with Shift they choose several squares, Enter chooses, Space adds a second choice. The list of pauses below has the longest gaps.`}
          onKeyDown={onKeyDown}
          onPointerDown={(event) => {
            if (event.button === 0) {
              setAnchor(cellAt(event));
              event.currentTarget.setPointerCapture(event.pointerId);
            }
          }}
          onPointerMove={(event) => {
            const cell = cellAt(event);
            setCursor(cell);
            about(cell);
          }}
          onPointerUp={(event) => {
            const cell = cellAt(event);
            if (anchor >= 0 && cell >= 0) {
              choose(anchor, cell, event.ctrlKey || event.metaKey || event.shiftKey);
            }
            setAnchor(-1);
          }}
          onPointerCancel={() => setAnchor(-1)}
          onPointerLeave={() => setCursor(-1)}
        />
      </div>
      <p class="soft" data-table="heatmap" data-row="all">
        Columns of <Figure row={map} is="column" unit="time" /> from left to right; the start of each is at the bottom. A square is <Figure row={map} is="row" unit="time" />, the darkest has{" "}
        <Figure row={{ most_busy: most, most_waiting: most }} is={place.values.shown === "waiting" ? "most_waiting" : "most_busy"} unit="time" />.
        {map.uncovered > 0 && <> <Figure row={map} is="uncovered" unit="time" /> have no place in time.</>}
        {map.idle_threads > 0 && <> The waits of <Figure row={map} is="idle_threads" /> idle threads (<Figure row={map} is="idle_waiting" unit="time" />) are left out.</>}
      </p>
      {map.pauses.length > 0 && <Pauses map={map} />}
      <Chosen map={map} chosen={chosen} />
    </>
  );
}

/** The longest stretches without time on a CPU. */
function Pauses({ map }: { map: Heatmap }) {
  const place = usePlace();
  return (
    <p class="pauses" data-table="heatmap" data-row="all">
      <b><Figure row={map} is="pauses_count" /></b> {map.pauses_count === 1 ? "stretch" : "stretches"} without time on a CPU, the longest at{" "}
      {map.pauses.map(([from, time], at) => (
        <Fragment key={from}>
          {at > 0 && ", "}
          <button type="button" class="plain" disabled={isFile} onClick={() => change({ filter: withTimes(place.values.filter ?? "", { from, to: from + time }) })}>
            {secondsOf(from)} s for <Figure row={map} is={`pauses.${at}.1`} unit="time" />
          </button>
        </Fragment>
      ))}
      .
    </p>
  );
}

function Chosen({ map, chosen }: { map: Heatmap; chosen: Span[] }) {
  const place = usePlace();
  if (chosen.length === 0) {
    return null;
  }
  if (isFile) {
    return <p class="soft">This file has the flame graph of the whole recording only. `profundo view FILE` shows that of a square.</p>;
  }
  const filter = (span: Span) => withTimes(place.values.filter ?? "", span);
  return (
    <div class={chosen.length === 2 ? "pair squares" : "squares"}>
      {chosen.map((span) => (
        <div key={`${span.from}`}>
          {cellsOf(map, span).some((cell) => map.samples[cell] > 0) ? (
            <FlamePicture isSmall filter={filter(span)} title={`Calls from ${secondsOf(span.from)} to ${secondsOf(span.to)} s`} />
          ) : (
            <p class="refusal">
              From {secondsOf(span.from)} to {secondsOf(span.to)} s no sample ends: a later one stands for this time. Drag over more squares.
            </p>
          )}
          <button type="button" onClick={() => change({ filter: filter(span) })}>
            Filter every view by this time
          </button>
        </div>
      ))}
    </div>
  );
}
