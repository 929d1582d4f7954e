// A heap snapshot: which types fill the heap, which objects hold most, what holds them, which texts
// are there twice, and what has changed in a later snapshot.

import type { About, AboutRecording } from "../../about";
import { isFile, useAnswer } from "../../ask";
import { Figure } from "../../parts/figure";
import { Tabs, useTab, type Tab } from "../../parts/tabs";
import { Waiting } from "../../parts/waiting";
import { change, usePlace } from "../../place";
import type { GraphSnapshot, Heap } from "../../reports";
import { Biggest, Duplicates } from "./lists";
import { DifferenceOf } from "./difference";
import { Holders } from "./path";
import { Dominators } from "./tree";
import { Types } from "./types";

export function HeapView({ recording }: { recording?: AboutRecording }) {
  const about = useAnswer<About>("about");
  const place = usePlace();
  const snapshots = about.value?.snapshots ?? [];
  const number = place.values.snapshot === "1" && snapshots.length > 1 ? 1 : 0;
  const answer = useAnswer<Heap>(snapshots.length === 0 ? undefined : "heap", { snapshot: number, what: "types", limit: 2000 });
  const tabs: Tab[] = [
    { name: "types", title: "Types", about: "The types, by the bytes that would go with all of their objects" },
    { name: "biggest", title: "Biggest objects", about: "Objects, by the bytes that would go with each" },
    { name: "tree", title: "Dominators", about: "What each object alone holds: without it, all below it would go" },
    { name: "path", title: "Who holds it", about: "The shortest ways from the root to the objects of a type, or to one object" },
    { name: "duplicates", title: "Duplicates", about: "Texts that are there more than once" },
  ];
  if (snapshots.length > 1) {
    tabs.push({ name: "difference", title: "Difference", about: `From ${snapshots[0].name} to ${snapshots[1].name}` });
  }
  const tab = useTab(tabs, "heap");
  if (about.value !== undefined && snapshots.length === 0) {
    return (
      <p class="refusal">
        There is no heap snapshot on this page. <code>profundo snapshot PID</code> takes one, and <code>profundo view FILE.heapsnapshot</code> shows it.
      </p>
    );
  }
  return (
    <div class="memory heap">
      <div class="tools">
        {snapshots.length > 1 && tab !== "difference" ? (
          <label>
            Snapshot{" "}
            <select value={String(number)} onChange={(event) => change({ snapshot: event.currentTarget.value, object: "" })}>
              {snapshots.map(({ name }, at) => (
                <option key={name} value={String(at)}>
                  {at === 0 ? "before" : "now"}: {name}
                </option>
              ))}
            </select>
          </label>
        ) : (
          <h2 title={snapshots[number]?.path}>{tab === "difference" ? `${snapshots[0]?.name} and ${snapshots[1]?.name}` : snapshots[number]?.name}</h2>
        )}
        {answer.value !== undefined && tab !== "difference" && <Size snapshot={answer.value.snapshot} />}
        {isFile && <span class="soft">This file shows types and the biggest objects. To look further: <code>profundo view FILE.heapsnapshot</code>.</span>}
      </div>
      <Tabs tabs={tabs} chosen={tab} label="Questions about the heap" name="heap" />
      {tab === "types" && <Waiting answer={answer}>{(heap) => <Types types={heap.types} recording={recording} />}</Waiting>}
      {tab === "biggest" && <Biggest snapshot={number} />}
      {tab === "tree" && <Dominators key={number} snapshot={number} />}
      {tab === "path" && <Holders snapshot={number} of={place.values.object ?? ""} />}
      {tab === "duplicates" && <Duplicates snapshot={number} />}
      {tab === "difference" && <DifferenceOf before={snapshots[0].name} now={snapshots[1].name} />}
    </div>
  );
}

function Size({ snapshot }: { snapshot: GraphSnapshot }) {
  return (
    <span class="soft" data-table="snapshot" data-row="all">
      <b><Figure row={snapshot} is="objects" /></b> objects, <Figure row={snapshot} is="references" /> references, <b><Figure row={snapshot} is="bytes" /></b>
      {snapshot.unheld_objects > 0 && <>; <Figure row={snapshot} is="unheld_objects" /> held by weak references only, or by one another</>}
    </span>
  );
}
