// The types of a heap, the owners of one, and the lines that allocate it.

import { useState } from "preact/hooks";

import type { AboutRecording } from "../../about";
import { useAnswer } from "../../ask";
import { bytes, count } from "../../numbers";
import { tell } from "../../parts/details";
import { Figure, placeKey, Shown } from "../../parts/figure";
import { forWidth, useNarrow } from "../../parts/narrow";
import { Bytes, range } from "../../parts/range";
import { Table, type Column } from "../../parts/table";
import { Waiting } from "../../parts/waiting";
import { placeWords, Where } from "../../parts/where";
import { change, usePlace } from "../../place";
import type { Allocs, GraphOwner, GraphType, HeapLine } from "../../reports";
import { exactly, withTerm } from "../../terms";
import { retaining, showHolders } from "./objects";

export function Types({ types, recording }: { types: GraphType[]; recording?: AboutRecording }) {
  const place = usePlace();
  const [search, setSearch] = useState("");
  const isNarrow = useNarrow();
  const wanted = search.toLowerCase();
  const rows = types.filter(({ type }) => wanted === "" || type.toLowerCase().includes(wanted));
  const most = Math.max(...types.map(({ retained_share }) => retained_share), 1e-9);
  const chosen = types.find(({ type }) => type === place.values.of_type);
  const columns: Column<GraphType>[] = [
    ...retaining<GraphType>(most),
    { title: "Objects", order: (row) => row.objects, cell: (row) => <Figure row={row} is="objects" />, isNumber: true, width: "6.5em" },
    { title: "Type", order: (row) => row.type, cell: (row) => <b>{row.type}</b> },
  ];
  return (
    <>
      <div class="tools">
        <label>
          Search{" "}
          <input type="search" data-search value={search} spellcheck={false} onInput={(event) => setSearch(event.currentTarget.value)} />
        </label>
        <span class="soft">
          <Shown table="heap_types" shown={rows.length} all={types.length} /> types. Click one to see who owns its objects{recording !== undefined && ", and which lines allocate it"}.
        </span>
      </div>
      <div class="beside">
        <Table
          key={String(isNarrow)}
          rows={rows}
          {...forWidth(isNarrow, columns)}
          label="Types"
          name="heap_types"
          keyOf={(row) => row.type}
          chosen={(row) => row === chosen}
          onPoint={(row) =>
            tell(
              <span data-table="heap_types" data-row={row.type}>
                <b>{row.type}</b> · <Figure row={row} is="objects" /> objects of <Figure row={row} is="bytes" /> · <Figure row={row} is="retained_bytes" /> would go with them (
                <Figure row={row} is="retained_share" />)
              </span>,
            )
          }
          onChoose={(row) => change({ of_type: row === chosen ? "" : row.type }, false)}
        />
        {chosen !== undefined && <OneType type={chosen} recording={recording} />}
      </div>
    </>
  );
}

function OneType({ type, recording }: { type: GraphType; recording?: AboutRecording }) {
  return (
    <aside class="neighbours" aria-label={`The type ${type.type}`}>
      <h2>
        {type.type}
        <button type="button" class="plain" aria-label="Close" onClick={() => change({ of_type: "" }, false)}>
          ×
        </button>
      </h2>
      <p>
        <button type="button" onClick={() => showHolders(type.type)}>
          Who holds them
        </button>
      </p>
      <h3>Lines that allocate it</h3>
      {recording === undefined ? (
        <p class="soft">
          A recording beside the snapshot knows them: <code>profundo view FILE.profundo FILE.heapsnapshot</code>.
        </p>
      ) : !recording.has.memory ? (
        <p class="soft">
          {recording.name} has no allocations: <code>profundo run --memory</code> records them.
        </p>
      ) : (
        <AllocatingLines type={type.type} recording={recording} />
      )}
      {type.owners.length > 0 && (
        <>
          <h3>Whose they are</h3>
          <ol data-table="owners">
            {type.owners.slice(0, 15).map((row: GraphOwner) => (
              <li key={row.owner ?? ""} data-row={`${type.type} ${row.owner ?? ""}`} title={`${count(row.objects)} objects of ${bytes(row.bytes)}`}>
                <b><Figure row={row} is="retained_bytes" /></b> {row.owner ?? <span class="soft">of no known owner</span>}{" "}
                <span class="soft"><Figure row={row} is="objects" /></span>
              </li>
            ))}
            {type.owners.length > 15 && <li class="soft">… and others, which hold less</li>}
          </ol>
        </>
      )}
    </aside>
  );
}

/** Snapshots' names of what recordings name otherwise. */
const OTHER_NAMES: Record<string, string> = { "(string)": "str", "(number)": "int", "(array)": "list" };

/** The lines that allocate a type. A class of the program has none of its own: what is made in its `__init__` stands for it. */
function AllocatingLines({ type, recording }: { type: string; recording: AboutRecording }) {
  const place = usePlace();
  const number = place.values.recording;
  const named = OTHER_NAMES[type] ?? type;
  const byType = useAnswer<Allocs>("report", { what: "allocs", recording: number, type: named, limit: 30 });
  const none = byType.value !== undefined && (byType.value.allocations?.lines.length ?? 0) === 0;
  const name = type.slice(type.lastIndexOf(".") + 1);
  const filter = withTerm("", "focus", exactly(`${name}.__init__`));
  const byClass = useAnswer<Allocs>(none ? "report" : undefined, { what: "allocs", recording: number, filter, limit: 30 });
  return (
    <Waiting answer={byType}>
      {() =>
        none ? (
          <Waiting answer={byClass}>
            {({ allocations }) =>
              allocations === null || allocations.lines.length === 0 ? (
                <p class="soft">{recording.name} has no allocation that is known to be of this type.</p>
              ) : (
                <>
                  <p class="soft">
                    A recording does not know the class of an instance. These lines allocate while <code>{name}.__init__</code> runs:
                  </p>
                  <LinesOf lines={allocations.lines} />
                </>
              )
            }
          </Waiting>
        ) : (
          <LinesOf lines={byType.value?.allocations?.lines ?? []} />
        )
      }
    </Waiting>
  );
}

function LinesOf({ lines }: { lines: HeapLine[] }) {
  return (
    <ol data-table="type_lines">
      {lines.map((line) => (
        <li key={placeWords(line.at)} data-row={placeKey(line)} title={`allocated ${range(line, "allocated_bytes") || "exactly"}; live at the end ${bytes(line.live_bytes)}`}>
          <b>
            <Bytes row={line} name="allocated_bytes" />
          </b>{" "}
          <Where at={line.at} />
        </li>
      ))}
    </ol>
  );
}
