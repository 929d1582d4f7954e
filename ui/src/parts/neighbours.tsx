// Who calls a line, and what it calls: each a link to the next line, up and down the stack.

import { isAnswered, useAnswer } from "../ask";
import { NARROW, type Flame } from "../canvas/picture";
import { base, percent } from "../numbers";
import { link, usePlace } from "../place";
import { shared } from "./asked";
import { Figure } from "./figure";
import { Waiting } from "./waiting";
import { Words } from "./words";

/** Rows of neighbours that are shown. */
const MOST = 30;

export function Neighbours({ name, file, line, onClose }: { name: string; file: string; line: number; onClose: () => void }) {
  const place = usePlace();
  const question = { ...shared(place), function: name, file, line, by_line: true, pixels: 500 };
  const isThere = isAnswered("flame", { ...question, shape: "callers" });
  const callers = useAnswer<Flame>(isThere ? "flame" : undefined, { ...question, shape: "callers" });
  const callees = useAnswer<Flame>(isThere ? "flame" : undefined, { ...question, shape: "callees" });
  return (
    <aside class="neighbours" aria-label={`Callers and callees of line ${line}`}>
      <h2>
        {base(file)}:{line}
        <button type="button" class="plain" onClick={onClose} aria-label="Close">
          ×
        </button>
      </h2>
      {isThere ? (
        <>
          <h3>Called from</h3>
          <Waiting answer={callers}>{(flame) => <Rows flame={flame} none="Nothing calls it: it is at the root." />}</Waiting>
          <h3>Calls</h3>
          <Waiting answer={callees}>{(flame) => <Rows flame={flame} none="It calls nothing that was sampled." />}</Waiting>
        </>
      ) : (
        <p class="soft sentence"><Words text="Callers and callees of a line are in the recording itself: `profundo view FILE` shows them." /></p>
      )}
    </aside>
  );
}

/** The boxes of the first level: the neighbours of the box that the picture is about. */
function Rows({ flame, none }: { flame: Flame; none: string }) {
  const { boxes, functions } = flame;
  const all = flame.boxes.weight[0] || 1;
  const rows = boxes.level.flatMap((level, at) => (level === 1 && boxes.function[at] !== NARROW ? [at] : []));
  if (rows.length === 0) {
    return <p class="soft">{none}</p>;
  }
  return (
    <ol data-table="neighbours">
      {rows.slice(0, MOST).map((at) => {
        const row = boxes.function[at];
        const isFunction = row >= 0;
        const file = isFunction ? functions.file[row] : "";
        const line = boxes.line[at];
        const name = isFunction ? functions.name[row] : "[system call]";
        return (
          <li key={at} data-row={`${name} ${file}:${line}`}>
            <b title={percent(boxes.weight[at] / all)}><Figure row={{ weight: boxes.weight[at] }} is="weight" unit={flame.unit} /></b>{" "}
            {file !== "" && line > 0 ? (
              <a href={link("source", { file, line: String(line) })} title={`${file}:${line}`}>
                {name} <span class="soft">{`${base(file)}:${line}`}</span>
              </a>
            ) : (
              <span>{name}</span>
            )}
          </li>
        );
      })}
      {rows.length > MOST && <li class="soft" data-row="all">… <Figure row={rows} is="length" /> in all</li>}
    </ol>
  );
}
