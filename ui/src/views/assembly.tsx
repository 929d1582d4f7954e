// The instructions of a native function, each below the source line that it is of, with the jumps.

import { useEffect, useMemo, useRef } from "preact/hooks";

import type { AboutRecording } from "../about";
import { useAnswer } from "../ask";
import { base } from "../numbers";
import { shared } from "../parts/asked";
import { tell } from "../parts/details";
import { Figure, functionKey } from "../parts/figure";
import { Waiting } from "../parts/waiting";
import { change, usePlace } from "../place";
import type { Annotate, Annotated, Functions, Instruction } from "../reports";

const HEIGHT = 19;
/** The most jumps beside each other. */
const LANES = 8;

export function AssemblyView(_: { recording: AboutRecording }) {
  const place = usePlace();
  const functions = useAnswer<Functions>("report", { ...shared(place), what: "functions", limit: 1000 });
  return (
    <Waiting answer={functions}>
      {(report) => {
        const native = report.functions.filter(({ language, self_share, function: name }) => (language === "native" || language === "rust") && self_share > 0 && name !== null);
        const name = place.values.name ?? native[0]?.function ?? "";
        return (
          <div class="source">
            <nav class="files" aria-label="Native functions" data-table="functions">
              {native.map((row) => (
                <a
                  key={functionKey(row)}
                  data-row={functionKey(row)}
                  href="#assembly"
                  aria-current={row.function === name ? "true" : undefined}
                  title={`${row.function} ${row.file ?? ""}`}
                  onClick={(event) => {
                    event.preventDefault();
                    change({ name: row.function ?? "" });
                  }}
                >
                  <b><Figure row={row} is="self_share" /></b> {row.function}
                </a>
              ))}
            </nav>
            {name === "" ? <p class="soft">No native function has any time here.</p> : <Code key={name} name={name} />}
          </div>
        );
      }}
    </Waiting>
  );
}

function Code({ name }: { name: string }) {
  const place = usePlace();
  const answer = useAnswer<Annotate>("report", { ...shared(place), what: "annotate", name });
  return (
    <Waiting answer={answer}>
      {(annotate) => {
        const found = annotate.functions.find(({ instructions }) => instructions.length > 0);
        return found === undefined ? (
          <p class="soft">The instructions of {name} are not known: its file is not on this machine, or is another one now.</p>
        ) : (
          <Listing code={found} />
        );
      }}
    </Waiting>
  );
}

/** A row: a line of source, or an instruction. */
type Row = { source: Instruction } | { instruction: Instruction };

function rowsOf(code: Annotated): Row[] {
  const rows: Row[] = [];
  let last = "";
  for (const instruction of code.instructions) {
    const place = `${instruction.file}:${instruction.line}`;
    if (place !== last && instruction.line !== null) {
      rows.push({ source: instruction });
    }
    last = place;
    rows.push({ instruction });
  }
  return rows;
}

/** A jump as rows, in a lane of its own. */
interface Jump {
  from: number;
  to: number;
  lane: number;
}

function jumpsOf(rows: Row[]): Jump[] {
  const place = new Map(rows.flatMap((row, at) => ("instruction" in row ? [[row.instruction.address, at] as const] : [])));
  const jumps = rows.flatMap((row, from) => {
    const to = "instruction" in row && row.instruction.jump !== null ? place.get(row.instruction.jump) : undefined;
    return to === undefined ? [] : [{ from, to, lane: 0 }];
  });
  const length = ({ from, to }: Jump) => Math.abs(to - from);
  jumps.sort((a, b) => length(a) - length(b));
  const taken: [number, number][][] = [];
  for (const jump of jumps) {
    const [first, last] = [Math.min(jump.from, jump.to), Math.max(jump.from, jump.to)];
    let lane = taken.findIndex((spans) => spans.every(([a, b]) => last < a || first > b));
    if (lane < 0) {
      lane = taken.length;
      taken.push([]);
    }
    taken[lane].push([first, last]);
    jump.lane = Math.min(lane, LANES - 1);
  }
  return jumps;
}

function Listing({ code }: { code: Annotated }) {
  const rows = useMemo(() => rowsOf(code), [code]);
  const jumps = useMemo(() => jumpsOf(rows), [rows]);
  const most = Math.max(...code.instructions.map((row) => row.self_share_of_function), 1e-9);
  const width = (LANES + 1) * 7;
  const hottest = code.instructions.find((row) => row.self_share_of_function === most);
  const hot = useRef<HTMLTableRowElement>(null);
  useEffect(() => hot.current?.scrollIntoView({ block: "center" }), [code]);
  return (
    <section class="listing" aria-label={`Instructions of ${code.function}`}>
      <div class="tools">
        <code>{code.signature ?? code.function}</code>
        <span class="soft">
          {code.module ?? ""} {code.start} to {code.end}
        </span>
      </div>
      <div class="code" tabIndex={0} role="region" aria-label="Instructions">
        <div class="jumps" aria-hidden="true">
          <svg width={width} height={rows.length * HEIGHT}>
            {jumps.map(({ from, to, lane }, at) => {
              const x = width - 6 - (lane + 1) * 7;
              const [y1, y2] = [from * HEIGHT + HEIGHT / 2, to * HEIGHT + HEIGHT / 2];
              return <path key={at} d={`M${width - 2} ${y1}H${x}V${y2}H${width - 2}m-4 -3l4 3l-4 3`} class={to < from ? "back" : ""} />;
            })}
          </svg>
        </div>
        <table class="assembly" data-table="instructions">
          <colgroup>
            <col class="share" />
            <col class="bar-column" />
            <col class="address" />
            <col />
          </colgroup>
          <tbody>
            {rows.map((row, at) =>
              "source" in row ? (
                <tr key={at} class="source-line">
                  <td colSpan={3} />
                  <td>
                    <pre style={{ paddingLeft: `${width}px` }}>
                      {base(row.source.file ?? "")}:{row.source.line} {row.source.source ?? ""}
                    </pre>
                  </td>
                </tr>
              ) : (
                <tr key={at} data-row={row.instruction.address} ref={row.instruction === hottest ? hot : undefined} onMouseEnter={() => tell(<InstructionDetails row={row.instruction} />)}>
                  <td class="number">{row.instruction.self_samples > 0 && <Figure row={row.instruction} is="self_share_of_function" />}</td>
                  <td class="bars">
                    <span class="bar">
                      <i class="kind-native" style={{ width: `${(100 * row.instruction.self_share_of_function) / most}%` }} />
                    </span>
                  </td>
                  <td class="number soft">{row.instruction.address}</td>
                  <td>
                    <pre style={{ paddingLeft: `${width}px` }}>{row.instruction.text}</pre>
                  </td>
                </tr>
              ),
            )}
          </tbody>
        </table>
      </div>
    </section>
  );
}

function InstructionDetails({ row }: { row: Instruction }) {
  return (
    <span data-table="instructions" data-row={row.address}>
      <b>{row.text}</b> at {row.address} ({row.bytes}) · <Figure row={row} is="self_share_of_function" /> of the function,{" "}
      <Figure row={row} is="self_samples" /> samples · {row.function} {row.line !== null && `${base(row.file ?? "")}:${row.line}`} {row.source ?? ""}
    </span>
  );
}
