// The first view: what ran, where the time went, what stands out, and how sure that is. It is painted
// in parts: what ran and how long comes first, and no part waits for another one's answer.

import type { AboutRecording } from "../../about";
import { Waiting } from "../../parts/waiting";
import { Words } from "../../parts/words";
import { link } from "../../place";
import { FlamePicture } from "../flame";
import { TimeTrack } from "../timeline/small";
import { Findings } from "./findings";
import { Head } from "./head";
import { HotFunctions, HotLines, Processes, Threads, Waits } from "./hot";
import { useSummary } from "./parts";

export { Interval, interval } from "./interval";

export function OverviewView({ recording }: { recording: AboutRecording }) {
  const head = useSummary<never>("head");
  const isSampled = recording.has.samples || recording.has.memory;
  // The machine has few processors: the first answer is not to share them with the others.
  const isNext = !head.isOld && head.error === undefined;
  const verdict = useSummary<"verdict">("verdict", isNext);
  const lines = useSummary<"lines">("lines", isNext);
  const functions = useSummary<"functions" | "waits">("functions,waits", isNext);
  const totals = useSummary<"processes" | "threads">("totals", isNext);
  if (head.error !== undefined || head.value === undefined) {
    return (
      <div class="overview">
        <Waiting answer={head}>{() => null}</Waiting>
      </div>
    );
  }
  return (
    <div class="overview">
      <Waiting answer={head}>
        {(summary) => (
          <Head summary={summary} hasTimes={recording.has.times}>
            <div class="says">
              <div class="verdict-place">
                <Waiting answer={verdict}>
                  {({ verdict }) =>
                    verdict.length === 0 ? null : (
                      <p class="verdict">
                        <Words text={verdict} />
                      </p>
                    )
                  }
                </Waiting>
              </div>
              <Findings recording={recording} summary={summary} waits={functions.value?.waits} threads={totals.value?.threads} isWanted={isNext} />
            </div>
          </Head>
        )}
      </Waiting>
      <TimeTrack recording={recording} />
      {isSampled ? <FlamePicture isSmall /> : (
        <p class="card">
          No samples were taken. <a href={link("exact")}>Counted</a> has what was counted.
        </p>
      )}
      <div class="pair" hidden={!isSampled}>
        <Waiting answer={lines}>{({ lines }) => <HotLines lines={lines} />}</Waiting>
        <Waiting answer={functions}>{({ functions }) => <HotFunctions functions={functions} />}</Waiting>
        {functions.value?.waits !== undefined && functions.value.waits.length > 0 && (
          <Waiting answer={functions}>{({ waits }) => <Waits waits={waits ?? []} />}</Waiting>
        )}
        {totals.value !== undefined && totals.value.processes.length > 1 && (
          <Waiting answer={totals}>{({ processes }) => <Processes processes={processes} />}</Waiting>
        )}
        {totals.value !== undefined && totals.value.threads.length > 1 && (
          <Waiting answer={totals}>{({ threads }) => <Threads threads={threads} />}</Waiting>
        )}
      </div>
    </div>
  );
}
