// The flame graph in the order of time: a lane for each thread. It is cut to a window, which is the
// timeline's too: `start` and `end` in the address of the page. Dragging over the seconds chooses a span
// of time, as in the timeline.

import { useLayoutEffect, useMemo } from "preact/hooks";

import { isFile, useAnswer } from "../ask";
import { fills, type Look } from "../canvas/colours";
import { FlameCanvas, ROW } from "../canvas/flame";
import { placeLanes, step, type Lanes } from "../canvas/lanes";
import { findAll, nameOf, NARROW, placeOf } from "../canvas/picture";
import { drawAxis, moment } from "../canvas/strip";
import { useCanvas } from "../canvas/use_canvas";
import { count } from "../numbers";
import { shared } from "../parts/asked";
import { tell } from "../parts/details";
import { Figure } from "../parts/figure";
import { Legend } from "../parts/legend";
import { Strip } from "../parts/strip";
import { Waiting } from "../parts/waiting";
import { change, usePlace } from "../place";
import { Plot } from "./timeline/plot";
import { choose, chosenOf, useSettled, useWindow, windowOf } from "./timeline/window";

export function InTime({ look, search }: { look: Look; search: string }) {
  const place = usePlace();
  const window = useSettled(windowOf(place) ?? filterWindow(place), 120);
  const { filter, recording, mine, runtime } = shared(place);
  const answer = useAnswer<Lanes>("lanes", {
    filter,
    recording,
    mine,
    runtime,
    libraries: place.values.libraries,
    start: isFile ? undefined : window?.from,
    end: isFile ? undefined : window?.to,
    columns: isFile ? undefined : 1200,
  });
  return <Waiting answer={answer}>{(lanes) => <LaneDrawing answer={lanes} look={look} search={search} />}</Waiting>;
}

/** The times of the filter: what is chosen is what is shown. */
function filterWindow(place: ReturnType<typeof usePlace>) {
  const chosen = chosenOf(place, { from: 0, to: 0 });
  return chosen !== undefined && chosen.to > chosen.from ? { from: Math.round(chosen.from), to: Math.round(chosen.to) } : undefined;
}

function LaneDrawing({ answer, look, search }: { answer: Lanes; look: Look; search: string }) {
  const place = usePlace();
  const whole = { from: answer.span[0], to: answer.span[1] };
  const mover = useWindow(whole, { from: answer.from, to: answer.to });
  const picture = useMemo(() => placeLanes(answer), [answer]);
  const wanted = mover.window;
  const { box, sheet, isDark, theme, props } = useCanvas((canvas) => new FlameCanvas(canvas), {
    point: (at) => at !== undefined && point(sheet.current?.at(at.x, at.y) ?? -1, false),
    drag: (by) => {
      mover.pan(-by.x / (box.current?.clientWidth || 1));
      sheet.current?.scroll(-by.y / ROW);
    },
    release: (at, isClick) => {
      if (isClick) {
        const chosen = sheet.current?.at(at.x, at.y) ?? -1;
        point(chosen, true);
        zoom(chosen);
      }
    },
    wheel: (event) => {
      event.preventDefault();
      const width = box.current?.clientWidth || 1;
      if (event.ctrlKey || event.metaKey) {
        mover.zoom(Math.exp(event.deltaY / 300), wanted.from + (event.offsetX / width) * (wanted.to - wanted.from));
      } else if (event.shiftKey || event.deltaX !== 0) {
        mover.pan((event.deltaX || event.deltaY) / width);
      } else {
        sheet.current?.scroll(event.deltaY / ROW);
      }
    },
  });
  const colours = useMemo(() => fills(picture, look, isDark), [picture, look, isDark]);
  useLayoutEffect(() => {
    const made = sheet.current;
    if (made !== undefined) {
      const { top } = made;
      made.show(picture);
      made.top = top;
    }
  }, [picture]);
  useLayoutEffect(() => {
    const made = sheet.current;
    if (made === undefined) {
      return;
    }
    made.from = wanted.from - answer.from;
    made.to = wanted.to - answer.from;
    made.fills = colours.of;
    made.found = findAll(picture, search);
    made.theme = theme();
    made.draw();
  }, [picture, colours, search, isDark, wanted.from, wanted.to]);

  const point = (at: number, isSelected: boolean) => {
    const made = sheet.current;
    if (made === undefined || at < 0) {
      return;
    }
    if (isSelected) {
      made.selected = at;
      made.reveal(at);
    }
    made.hovered = at;
    made.draw();
    const { boxes, start, extent } = picture;
    const from = answer.from + start[at];
    const isLane = picture.heads.includes(at);
    const row = { time: extent[at], count: boxes.count[at], weight: boxes.weight[at], own: boxes.own[at] };
    tell(
      <span data-table="lanes" data-row={String(at)}>
        <b>{nameOf(picture, at)}</b> <bdi>{placeOf(picture, at)}</bdi>
        {!isLane && <> · <bdi>{`${moment(from, answer.least)} to ${moment(from + extent[at], answer.least)}`}</bdi>, <Figure row={row} is="time" unit="time" /></>} ·{" "}
        {boxes.function[at] === NARROW ? "too short to be seen: zoom in" : <>samples <Figure row={row} is="count" />, <Figure row={row} is="weight" unit="time" />, self <Figure row={row} is="own" unit="time" /></>}
      </span>,
    );
  };
  /** Makes the window the time of a box, or all again. */
  const zoom = (at: number) => {
    if (at < 0 || picture.heads.includes(at)) {
      return;
    }
    const from = answer.from + picture.start[at];
    mover.show({ from, to: from + picture.extent[at] });
  };
  const around = () => (wanted.from + wanted.to) / 2;
  const onKeyDown = (event: KeyboardEvent) => {
    const made = sheet.current;
    if (made === undefined || event.ctrlKey || event.metaKey || event.altKey) {
      return;
    }
    const at = Math.max(0, made.selected);
    const steps: Record<string, () => void> = {
      Enter: () => zoom(at),
      Escape: () => change({ start: "", end: "" }),
      Backspace: () => change({ start: "", end: "" }),
      "+": () => mover.zoom(0.5, around()),
      "-": () => mover.zoom(2, around()),
      PageUp: () => mover.pan(-0.5),
      PageDown: () => mover.pan(0.5),
      f: () => choose(place, { from: answer.from + picture.start[at], to: answer.from + picture.start[at] + picture.extent[at] }),
    };
    const run = event.key.startsWith("Arrow") ? () => point(step(picture, at, event.key), true) : steps[event.key];
    if (run !== undefined) {
      event.preventDefault();
      run();
    }
  };
  return (
    <>
      <div class="time-axis">
        <Plot whole={whole} mover={mover} label="Seconds. Arrow keys move the cursor, with Shift they choose a span of time and Enter filters by it. Plus and minus zoom.">
          <Strip height={20} window={wanted} label="Seconds" draw={drawAxis} />
        </Plot>
      </div>
      <div class="picture" ref={box}>
        <canvas
          {...props}
          tabIndex={0}
          role="application"
          aria-label={`Flame graph in the order of time, ${count(answer.lanes.length)} threads, ${count(picture.boxes.level.length)} boxes. Arrow keys go to callers, callees and neighbours, Enter zooms in, F filters by the time of a box. The view Functions has the numbers as a table.`}
          onKeyDown={onKeyDown}
        />
      </div>
      <Legend colours={colours.legend}>
        {answer.left_out > 0 && <li class="soft" data-table="lanes" data-row="all"><Figure row={answer} is="left_out" /> more {answer.left_out === 1 ? "thread has" : "threads have"} no lane: a filter on thread shows more</li>}
      </Legend>
    </>
  );
}
