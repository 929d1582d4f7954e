// The timeline: what each thread did when, with memory, spans and marks at the same scale. A span of
// time that is chosen here filters every other view.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";

import type { AboutRecording } from "../../about";
import { isFile, useAnswer } from "../../ask";
import { drawAxis, moment } from "../../canvas/strip";
import { count } from "../../numbers";
import { ActivityLegend } from "../../parts/activities";
import { shared } from "../../parts/asked";
import { useDark } from "../../parts/dark";
import { tell } from "../../parts/details";
import { Figure } from "../../parts/figure";
import { Menu, type Choice } from "../../parts/menu";
import { Strip } from "../../parts/strip";
import { Waiting } from "../../parts/waiting";
import { change, show, usePlace } from "../../place";
import { withTerm } from "../../terms";
import type { Timeline } from "./answer";
import { Plot } from "./plot";
import { Unplaced } from "./unplaced";
import { LINES, rowsOf, type TimeRow } from "./rows";
import { SpanForm } from "./span_form";
import { TimelineTable } from "./table";
import { useSettled, useWindow, windowOf } from "./window";

/** The part of the question that all pictures over time share: they are of time, not of memory. */
export function timeless(values: ReturnType<typeof shared>): ReturnType<typeof shared> {
  return { ...values, of: undefined, count: undefined };
}

export function TimelineView({ recording }: { recording: AboutRecording }) {
  const place = usePlace();
  const window = useSettled(windowOf(place), 120);
  const answer = useAnswer<Timeline>("timeline", {
    ...timeless(shared(place)),
    by: place.values.by,
    tracks: place.values.tracks,
    start: isFile ? undefined : window?.from,
    end: isFile ? undefined : window?.to,
  });
  return (
    <section class="timeline" aria-label="Timeline">
      <Waiting answer={answer}>{(timeline) => <Tracks answer={timeline} recording={recording} />}</Waiting>
    </section>
  );
}

function Tracks({ answer, recording }: { answer: Timeline; recording: AboutRecording }) {
  const place = usePlace();
  const whole = { from: answer.span[0], to: answer.span[1] };
  const mover = useWindow(whole);
  const box = useRef<HTMLDivElement>(null);
  const [menu, setMenu] = useState<{ x: number; y: number; row: TimeRow } | undefined>(undefined);
  const [at, setAt] = useState(-1);
  const hidden = (place.values.hide ?? "").split(",").filter((id) => id !== "");
  const all = useMemo(() => rowsOf(answer), [answer]);
  const rows = all.filter(({ id }) => !hidden.includes(id));
  const lastTime = useRef(whole.from);

  const about = (row: TimeRow | undefined, time: number) => {
    if (row !== undefined) {
      tell(
        <span data-table="tracks" data-row={row.key ?? row.id}>
          <b>{row.title}</b> <bdi>{row.note}</bdi> · at <bdi>{moment(time, answer.step)}</bdi>: {row.words(time)}
        </span>,
      );
    }
  };
  const onPoint = (time: number, y: number) => {
    lastTime.current = time;
    let row = at;
    if (y >= 0) {
      const elements = [...(box.current?.querySelectorAll("[data-row]") ?? [])];
      row = elements.findIndex((element) => {
        const { top, bottom } = element.getBoundingClientRect();
        return y >= top && y < bottom;
      });
      if (row >= 0) {
        setAt(row);
      }
    }
    about(rows[Math.max(0, row)], time);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    if (step !== 0 && event.target instanceof HTMLElement && event.target.classList.contains("plot")) {
      event.preventDefault();
      const next = Math.min(rows.length - 1, Math.max(0, at + step));
      setAt(next);
      box.current?.querySelectorAll("[data-row]")[next]?.scrollIntoView({ block: "nearest" });
      about(rows[next], lastTime.current);
    } else if (event.key === "m" && rows[at] !== undefined) {
      setMenu({ x: 40, y: 60, row: rows[at] });
    }
  };
  useEffect(() => {
    // For tests.
    (box.current as (HTMLDivElement & { answer?: Timeline }) | null)!.answer = answer;
  }, [answer]);
  const label = `Timeline of ${count(answer.tracks)} ${place.values.by === "task" ? "tasks" : "threads"}. Arrow keys move the cursor, with Shift they choose a span of time and Enter filters by it. Plus and minus zoom. The table below has the same numbers.`;
  const hasTasks = recording.tasks.length > 0;
  return (
    <>
      <div class="tools">
        {hasTasks && !isFile && (
          <label>
            Tracks of{" "}
            <select value={place.values.by ?? "thread"} onChange={(event) => change({ by: event.currentTarget.value === "task" ? "task" : "" })}>
              <option value="thread">threads</option>
              <option value="task">tasks</option>
            </select>
          </label>
        )}
        <SpanForm whole={whole} mover={mover} />
        {hidden.length > 0 && (
          <button type="button" class="plain" onClick={() => change({ hide: "" })}>
            Show {hidden.length === 1 ? "the hidden row" : `${count(hidden.length)} hidden rows`}
          </button>
        )}
      </div>
      <ActivityLegend times={answer.all.times} isBlankNamed>
        <Curves answer={answer} />
      </ActivityLegend>
      <div class="rows" ref={box} onKeyDown={onKeyDown}>
        <Plot whole={whole} mover={mover} label={label} onPoint={onPoint}>
          <div class="track axis" aria-hidden="true">
            <span />
            <div>
              <Strip height={20} window={mover.window} label="Seconds" draw={drawAxis} />
            </div>
          </div>
          {rows.map((row, number) => (
            <div key={row.id} data-row={row.id} class={`track${row.isSmall ? " small" : ""}${number === at ? " at" : ""}`}>
              <button
                type="button"
                title={`${row.title} ${row.note}`}
                aria-label={`${row.title} ${row.note}: what to do with it`}
                onClick={(event) => {
                  const { offsetTop, offsetLeft, offsetHeight } = event.currentTarget.parentElement ?? event.currentTarget;
                  setMenu({ x: offsetLeft + 12, y: offsetTop + offsetHeight, row });
                }}
              >
                <b>{row.title}</b> <span class="soft">{row.note}</span>
              </button>
              <div>
                <Strip height={row.height} window={mover.window} label={`${row.title} ${row.note}`} draw={row.draw} />
              </div>
            </div>
          ))}
        </Plot>
        {menu !== undefined && (
          <Menu x={menu.x} y={menu.y} choices={choices(menu.row, place.values.filter ?? "", hidden)} onClose={() => setMenu(undefined)} />
        )}
      </div>
      {answer.shown < answer.tracks && (
        <p class="soft" data-table="tracks" data-row="all">
          <Figure row={answer} is="shown" /> of <Figure row={answer} is="tracks" /> {place.values.by === "task" ? "tasks" : "threads"} with samples have a row: those with most time on a CPU.{" "}
          {!isFile && (
            <button type="button" class="plain" onClick={() => change({ tracks: String(answer.shown + 32) })}>
              {Math.min(32, answer.tracks - answer.shown)} more
            </button>
          )}
        </p>
      )}
      <Unplaced answer={answer} />
      <Unrecorded recording={recording} />
      <TimelineTable answer={answer} />
    </>
  );
}

/** Which rows are not there, and which options record them. */
function Unrecorded({ recording: { has, is_answer } }: { recording: AboutRecording }) {
  const rows: [boolean, string, string][] = [
    [has.waits, "what threads wait for", "--wall"],
    [has.gauges, "memory", "--memory"],
    [has.energy, "power", "--energy"],
  ];
  const missing = rows.filter(([is]) => !is);
  // A store keeps what its writers have sent.
  return missing.length === 0 || is_answer ? null : (
    <p class="soft">
      Not recorded: {missing.map(([, what]) => what).join(", ")}. <code>profundo record {missing.map(([, , option]) => option).join(" ")}</code> records {missing.length === 1 ? "it" : "them"}.
    </p>
  );
}

/** What the thin lines and curves are. */
function Curves({ answer }: { answer: Timeline }) {
  const isDark = useDark();
  const shade = (pair: [string, string]) => ({ background: pair[isDark ? 1 : 0] });
  return (
    <>
      {answer.all.garbage > 0 && (
        <li title="part of the time above: a line at the top of a row">
          <i class="dash" style={shade(LINES.garbage)} /> garbage collection <b><Figure row={answer.all} is="garbage" unit="time" /></b>
        </li>
      )}
      {answer.memory.length > 0 && (
        <li>
          <i class="dash" style={shade(LINES.memory)} /> resident memory
        </li>
      )}
      {answer.memory.some(({ in_use }) => in_use.length > 0) && (
        <li title="bytes in live blocks of the allocators">
          <i class="dash" style={shade(LINES.used)} /> memory in use
        </li>
      )}
      {answer.energy !== null && (
        <li title="the machine's energy, divided as the CPU time is: an estimate">
          <i class="dash" style={shade(LINES.power)} /> power <b>{answer.energy.window_joules.toPrecision(3)} J</b>
        </li>
      )}
    </>
  );
}

function choices(row: TimeRow, filter: string, hidden: string[]): Choice[] {
  const found: Choice[] = [];
  const { term } = row;
  if (term !== undefined && !isFile) {
    found.push({ title: `Only this ${term[0]}`, run: () => change({ filter: withTerm(filter, term[0], term[1]), path: "" }) });
    found.push({ title: `The flame graph of this ${term[0]}`, run: () => show("flame", { filter: withTerm(filter, term[0], term[1]) }) });
  }
  found.push({ title: "Hide this row", run: () => change({ hide: [...hidden, row.id].join(",") }) });
  return found;
}
