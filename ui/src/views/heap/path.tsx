// Who holds an object, or the objects of a type: the shortest ways from the root, those that are
// alike as one.

import { useState } from "preact/hooks";

import { useAnswer } from "../../ask";
import { Figure } from "../../parts/figure";
import { Waiting } from "../../parts/waiting";
import { change } from "../../place";
import type { GraphStep, GraphWay, HeapPath } from "../../reports";
import { idOf, ObjectName, showHolders } from "./objects";

/** Ways of an answer. */
const WAYS = 60;

export function Holders({ snapshot, of }: { snapshot: number; of: string }) {
  const [typed, setTyped] = useState(of);
  const answer = useAnswer<HeapPath>(of === "" ? undefined : "heap", { snapshot, what: "path", of, limit: WAYS });
  return (
    <>
      <form
        class="tools"
        onSubmit={(event) => {
          event.preventDefault();
          change({ object: typed.trim() });
        }}
      >
        <label>
          A type, or an object's id{" "}
          <input type="text" data-search value={typed} placeholder="dict, app.Session, @0x7f00" spellcheck={false} onInput={(event) => setTyped(event.currentTarget.value)} />
        </label>
        <button type="submit" disabled={typed.trim() === ""}>
          Who holds it
        </button>
      </form>
      {of === "" ? (
        <p class="soft memory-note">Type a name, or click an object in another table.</p>
      ) : (
        <Waiting answer={answer}>{(found) => <Ways of={of} found={found} />}</Waiting>
      )}
    </>
  );
}

function Ways({ of, found }: { of: string; found: HeapPath }) {
  return (
    <div class="ways" data-table="ways" data-row="all" tabIndex={0} role="region" aria-label={`Who holds ${of}`}>
      <h2>
        The shortest ways to <Figure row={found} is="objects" /> {found.objects === 1 ? "object" : "objects"}: {of}
      </h2>
      {found.unheld_objects > 0 && <p class="soft"><Figure row={found} is="unheld_objects" /> of them are held by weak references only, or by one another.</p>}
      {found.ways.map((way, at) => (
        <Way key={at} way={way} at={at} />
      ))}
      {found.ways.length === WAYS && <p class="soft">There may be more ways: `profundo heap FILE --path {of}` prints all.</p>}
    </div>
  );
}

function Way({ way, at }: { way: GraphWay; at: number }) {
  return (
    <section class="card way" data-row={at}>
      <p>
        <b><Figure row={way} is="objects" /></b> {way.objects === 1 ? "object is held" : "objects are held"} like this, <Figure row={way} is="bytes" /> of their own;{" "}
        {way.objects === 1 ? "it retains" : "the largest retains"} <b><Figure row={way} is="most_retained_bytes" /></b>
      </p>
      {way.path !== null && (
        <p>
          <code>{way.path}</code>
        </p>
      )}
      <ol>
        {way.steps.map((step, at) => (
          <li key={at} style={{ paddingLeft: `${Math.min(at, 16) * 14}px` }}>
            {by(step) !== "" && <code class="soft">{by(step)} → </code>}
            <button type="button" class="plain" title="Who holds this one" onClick={() => showHolders(idOf(step.id))}>
              <ObjectName row={step} />
            </button>
          </li>
        ))}
      </ol>
    </section>
  );
}

/** What the step before calls this object. */
function by({ by, by_index }: GraphStep): string {
  return by_index !== null ? `[${by_index}]` : by === "" ? "(no name)" : (by ?? "");
}
