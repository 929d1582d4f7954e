// The squares themselves: the pointer and the keys choose one, several, a whole column, or a second
// choice to compare with.

import { useLayoutEffect, useMemo, useState } from "preact/hooks";

import { columnAt, HeatCanvas, squareAt, timesOf, type Heatmap } from "../../canvas/heat";
import type { Span } from "../../canvas/strip";
import { useCanvas, type Point } from "../../canvas/use_canvas";
import { count, duration } from "../../numbers";
import { tell } from "../../parts/details";
import { Figure } from "../../parts/figure";
import { usePlace } from "../../place";
import { between, chooseSpans, columnOf, spansOf, timesIn } from "./chosen";

export function Squares({ map }: { map: Heatmap }) {
  const place = usePlace();
  const [cursor, setCursor] = useState(-1);
  // The square where a choice of several began; -1 for none.
  const [anchor, setAnchor] = useState(-1);
  const values = place.values.shown === "waiting" ? map.waiting : map.busy;
  const chosen = spansOf(place.values.squares);
  const most = useMemo(() => values.reduce((most, value) => Math.max(most, value), 0), [values]);
  const cellAt = (at: Point) => (sheet.current === undefined ? -1 : squareAt(map, at.x, at.y, sheet.current.size));
  const { box, sheet, isDark, theme, props } = useCanvas((canvas) => new HeatCanvas(canvas), {
    point: (at) => {
      const cell = at === undefined ? -1 : cellAt(at);
      setCursor(cell);
      about(cell);
    },
    press: (at) => setAnchor(cellAt(at)),
    drag: (_, at) => {
      const cell = cellAt(at);
      if (cell >= 0) {
        setCursor(cell);
        about(cell);
      }
    },
    release: (at, isClick, event) => {
      const cell = cellAt(at);
      const isSecond = event.ctrlKey || event.metaKey || event.shiftKey;
      const column = sheet.current === undefined ? -1 : columnAt(map, at.x, at.y, sheet.current.size);
      if (anchor >= 0 && (cell >= 0 || !isClick)) {
        choose(between(map, anchor, cell >= 0 ? cell : cursor), isSecond);
      } else if (isClick && column >= 0) {
        choose(columnOf(map, column), isSecond);
      }
      setAnchor(-1);
    },
  });
  useLayoutEffect(() => {
    const { mark, ground } = theme();
    sheet.current?.show({ map, values, most, isDark, cursor, anchor, chosen, ink: mark, ground });
  }, [map, values, isDark, cursor, anchor, place.values.squares]);

  const about = (cell: number) => {
    if (cell < 0) {
      return;
    }
    const row = { busy: map.busy[cell], waiting: map.waiting[cell], samples: map.samples[cell], hottest_time: map.hottest_time[cell] };
    const name = map.functions[map.hottest[cell]];
    tell(
      <span data-table="squares" data-row={String(cell)}>
        <b>{timesIn(timesOf(map, cell))}</b> · on a CPU <Figure row={row} is="busy" unit="time" />
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
  /** Chooses a span, or a second one beside the first. */
  const choose = (span: Span, isSecond: boolean) => {
    const other = isSecond && chosen[0] !== undefined && chosen[0].from !== span.from ? [chosen[0]] : [];
    chooseSpans([...other, span]);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const at = cursor < 0 ? 0 : cursor;
    const moves: Record<string, number> = { ArrowUp: 1, ArrowDown: -1, ArrowRight: map.rows, ArrowLeft: -map.rows };
    const isSecond = event.key === " " || event.ctrlKey || event.key === "C";
    if (event.key in moves) {
      const next = at + moves[event.key];
      if (next >= 0 && next < map.columns * map.rows) {
        setAnchor(event.shiftKey ? (anchor < 0 ? at : anchor) : -1);
        setCursor(next);
        about(next);
      }
    } else if (event.key === "Enter" || event.key === " ") {
      choose(between(map, anchor >= 0 ? anchor : at, at), isSecond);
      setAnchor(-1);
    } else if (event.key.toLowerCase() === "c" && !event.ctrlKey && !event.metaKey) {
      choose(columnOf(map, Math.floor(at / map.rows)), isSecond);
    } else if (event.key === "Escape") {
      chooseSpans([]);
    } else {
      return;
    }
    event.preventDefault();
  };
  return (
    <>
      <div class="picture heat" ref={box}>
        <canvas
          {...props}
          tabIndex={0}
          role="application"
          aria-label={`Heatmap of ${count(map.columns)} columns of ${duration(map.column / 1e9)} with ${count(map.rows)} squares each. Arrow keys move, with Shift they choose several squares; Enter chooses, Space adds a second choice to compare with; C chooses the whole column, Shift C as the second choice. The list of pauses below has the longest gaps.`}
          onKeyDown={onKeyDown}
        />
      </div>
      <p class="soft" data-table="heatmap" data-row="all">
        Columns of <Figure row={map} is="column" unit="time" /> from left to right; the start of each is at the bottom. A square is <Figure row={map} is="row" unit="time" />, the hottest has{" "}
        <Figure row={{ most_busy: most, most_waiting: most }} is={place.values.shown === "waiting" ? "most_waiting" : "most_busy"} unit="time" />.
        {map.uncovered > 0 && <> <Figure row={map} is="uncovered" unit="time" /> have no place in time.</>}
        {map.idle_threads > 0 && <> The waits of <Figure row={map} is="idle_threads" /> idle threads (<Figure row={map} is="idle_waiting" unit="time" />) are left out.</>}
      </p>
    </>
  );
}
