// Two recordings, two sets of them, or two heap snapshots: what has changed from one side to the
// other, by how much, and how sure that is.

import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";

import type { About, AboutRecording } from "../about";
import { isFile, useAnswer, type Values } from "../ask";
import { asFlame, changeFills, TRENDS, type DiffFlame } from "../canvas/changes";
import { nameOf, placeOf, type Picture } from "../canvas/picture";
import { base, moment } from "../numbers";
import { shared } from "../parts/asked";
import { Ends, Figure } from "../parts/figure";
import { Tabs, useTab, type Tab } from "../parts/tabs";
import { Waiting } from "../parts/waiting";
import { Words } from "../parts/words";
import { change, usePlace, type Place } from "../place";
import type { Diff, DiffRun } from "../reports";
import { Changes } from "./changes";
import { Drawing } from "./flame";
import { DifferenceOf } from "./heap/difference";

/** Both recordings are meant, whichever the other views show. */
function asked(place: Place): Values {
  return { ...shared(place), recording: undefined };
}

const SIDES: Tab[] = [
  { name: "recordings", title: "Recordings", about: "Time, or memory, of the recordings" },
  { name: "heaps", title: "Heap snapshots", about: "Objects by type, in the earlier snapshot and in the later one" },
];

export function CompareView({ recording }: { recording?: AboutRecording }) {
  const { value: about } = useAnswer<About>("about");
  const tabs = SIDES.filter(({ name }) => (name === "heaps" ? about?.snapshots.length === 2 : about?.before !== null));
  const tab = useTab(tabs, "compared");
  if (about === undefined) {
    return null;
  }
  return (
    <>
      {tabs.length > 1 && <Tabs tabs={tabs} chosen={tab} label="What is compared" name="compared" />}
      {tab === "heaps" ? <Heaps about={about} /> : <Recordings recording={recording} />}
    </>
  );
}

/** Two heap snapshots. */
function Heaps({ about }: { about: About }) {
  const [before, now] = about.snapshots;
  return (
    <div class="memory heap">
      <DifferenceOf before={before.name} now={now.name} />
    </div>
  );
}

function Recordings({ recording }: { recording?: AboutRecording }) {
  const place = usePlace();
  const diff = useAnswer<Diff>("diff", { ...asked(place), all: true, limit: 2000 });
  return (
    <div class="overview compare">
      <Waiting answer={diff}>{(diff) => <Head diff={diff} />}</Waiting>
      <DiffPicture />
      <Waiting answer={diff}>{(diff) => <Changes diff={diff} recording={recording} question={asked(place)} />}</Waiting>
    </div>
  );
}

function Head({ diff }: { diff: Diff }) {
  const { whole, unit } = diff;
  return (
    <section class="card" aria-label="The difference">
      <p class="verdict first">
        <Words text={diff.verdict} />
      </p>
      <dl class="sides" data-table="difference" data-row="whole">
        <Side title="Before" is="before" runs={diff.before} diff={diff} />
        <Side title="After" is="after" runs={diff.after} diff={diff} />
        <div>
          <dt>The whole</dt>
          <dd>
            <b class={whole.changed ? "" : "soft"}>
              <Figure row={whole} is="change" unit={unit} isChange />
            </b>{" "}
            <span class="soft">
              <Ends row={whole} is="change" unit={unit} isChange />
              {whole.changed ? "" : ", which may be chance"}
            </span>
          </dd>
        </div>
      </dl>
      <p class="soft quality" data-table="difference" data-row="all">{scaleOf(diff)}</p>
      {diff.warnings.length > 0 && (
        <ul class="notes">
          {diff.warnings.map((text) => (
            <li key={text} class="warning">
              {text}
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}

/** Runs of a side that its title names. */
const NAMED = 4;

function Side({ title, is, runs, diff }: { title: string; is: "before" | "after"; runs: DiffRun[]; diff: Diff }) {
  const [run, ...others] = runs;
  return (
    <div>
      <dt data-row={is}>
        {title}: <b>{runs.slice(0, NAMED).map(({ name }) => name).join(", ")}</b>
        {runs.length > NAMED && <> and <Figure row={{ more_runs: runs.length - NAMED }} is="more_runs" /> more</>}
      </dt>
      <dd>
        <b><Figure row={diff.whole} is={is} unit={diff.unit} /></b>{" "}
        {others.length === 0 ? (
          <RunWords run={run} row={is} />
        ) : (
          <details class="runs">
            <summary>
              the mean of <Figure row={{ runs: runs.length }} is="runs" /> runs
            </summary>
            <ul>
              {runs.map((run, at) => (
                <li key={run.name}>
                  <b>{run.name}</b> <RunWords run={run} row={`${is} ${at}`} />
                </li>
              ))}
            </ul>
          </details>
        )}
      </dd>
    </div>
  );
}

/** What is known of a run. */
function RunWords({ run, row }: { run: DiffRun; row: string }) {
  const words = [run.command ?? "", moment(run.started_unix_seconds)].filter((word) => word !== "");
  return (
    <span class="soft" data-row={row}>
      <span class="command-words">{words.join(" · ")}</span>
      {run.duration_seconds !== null && <> · ran for <Figure row={run} is="duration_seconds" /></>} · <Figure row={run} is="samples" /> samples
    </span>
  );
}

export function scaleOf(diff: Diff): ComponentChildren {
  const { per, function: name } = diff.scale;
  const scale = name === null ? `Amounts are those of a ${per}` : `Amounts are those of a ${per} of ${name}`;
  return (
    <>
      {scale}
      {Math.abs(diff.common_factor - 1) > 0.001 && <> · all rows share the factor <Figure row={diff} is="common_factor" unit="factor" />, which is taken out of each change</>}
      {diff.spread_is_measured && <> · the spread between runs is measured: <Figure row={diff} is="spread_share" /> for a function as a rule</>}
      {!diff.is_exact && <> · a change of a row is seen from <Figure row={diff} is="smallest_seen_share" /> of the whole on · intervals hold the change in 95 of 100 cases</>}.
    </>
  );
}

const WIDTHS: [string, string][] = [
  ["", "both"],
  ["before", "before"],
  ["after", "after"],
];

/** The flame graph of both. */
function DiffPicture() {
  const place = usePlace();
  const [search, setSearch] = useState("");
  const answer = useAnswer<DiffFlame>("diff_flame", {
    ...asked(place),
    widths: place.values.widths,
    path: isFile ? undefined : place.values.path,
  });
  return (
    <section class="flame small card" aria-label="Flame graph of the difference">
      <div class="tools">
        <h2>Calls</h2>
        <label>
          Widths{" "}
          <select value={place.values.widths ?? ""} onChange={(event) => change({ widths: event.currentTarget.value, path: "" })}>
            {WIDTHS.map(([value, title]) => (
              <option key={value} value={value}>
                {title}
              </option>
            ))}
          </select>
        </label>
        <label>
          Search{" "}
          <input type="search" data-search value={search} spellcheck={false} onInput={(event) => setSearch(event.currentTarget.value)} />
        </label>
        {place.values.path !== undefined && (
          <button type="button" onClick={() => change({ path: "" })}>
            Zoom out
          </button>
        )}
      </div>
      <Waiting answer={answer}>{(flame) => <DiffDrawing flame={flame} search={search} />}</Waiting>
    </section>
  );
}

/** The same boxes for the same answer, so that a picture is placed once. */
const flames = new WeakMap<DiffFlame, ReturnType<typeof asFlame>>();

export function DiffDrawing({ flame, search }: { flame: DiffFlame; search: string }) {
  const made = flames.get(flame) ?? asFlame(flame);
  flames.set(flame, made);
  return (
    <Drawing
      flame={made}
      search={search}
      isIcicle
      isSmall
      fillsOf={(picture, isDark) => changeFills(flame, picture, isDark)}
      details={(picture, at) => <BoxChange flame={flame} picture={picture} at={at} />}
    />
  );
}

function BoxChange({ flame, picture, at }: { flame: DiffFlame; picture: Picture; at: number }) {
  const { boxes, unit } = flame;
  const columns = ["before", "own_before", "after", "own_after", "change", "low", "high"] as const;
  const row = Object.fromEntries(columns.map((is) => [is, boxes[is][at]]));
  const amount = (is: (typeof columns)[number], isChange = false) => <Figure row={row} is={is} unit={unit} isChange={isChange} />;
  return (
    <span data-table="boxes" data-row={String(boxes.path[at])}>
      <b>{nameOf(picture, at)}</b> <bdi>{base(placeOf(picture, at))}</bdi> · before {amount("before")} (self {amount("own_before")}) · after {amount("after")} (self {amount("own_after")})
      {boxes.function[at] >= 0 && (
        <>
          {" "}
          · change {amount("change", true)}, {amount("low", true)} to {amount("high", true)}: {TRENDS[boxes.trend[at]]}
        </>
      )}
    </span>
  );
}
