// What was counted: calls with their callers and callees, lines with their hits and times, code that
// did not run, and exceptions.

import type { AboutRecording } from "../../about";
import { Tabs, useTab, type Tab } from "../../parts/tabs";
import { Calls } from "./calls";
import { ExceptionsOf } from "./exceptions";
import { LinesOf } from "./lines";

export function ExactView({ recording }: { recording: AboutRecording }) {
  const { has } = recording;
  const tabs: Tab[] = [
    { name: "calls", title: "Calls", about: "Each call of each function" },
    { name: "lines", title: "Lines", about: "Each run of each line" },
    { name: "exceptions", title: "Exceptions", about: "Each exception: who raised it, and who caught it" },
  ];
  const there = tabs.filter(({ name }) => (name === "calls" ? has.calls : name === "lines" ? has.counted_lines : has.exceptions));
  const tab = useTab(there, "exact");
  return (
    <div class="memory exact">
      {there.length > 1 && <Tabs tabs={there} chosen={tab} label="What was counted" name="exact" />}
      {tab === "calls" && <Calls />}
      {tab === "lines" && <LinesOf />}
      {tab === "exceptions" && <ExceptionsOf />}
    </div>
  );
}
