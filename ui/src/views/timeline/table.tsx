// The numbers of the timeline as a table, for those who do not see it.

import { Fragment } from "preact";

import { ACTIVITIES } from "../../canvas/activities";
import { Figure } from "../../parts/figure";
import type { Row, Timeline } from "./answer";

export function TimelineTable({ answer }: { answer: Timeline }) {
  const names = Object.keys(ACTIVITIES).filter((name) => (answer.all.times[name] ?? 0) > 0);
  const hasGarbage = answer.all.garbage > 0;
  const cells = (row: Row) => (
    <>
      {names.map((name) => (
        <td key={name} class="number">
          <Figure row={row} is={`times.${name}`} unit="time" />
        </td>
      ))}
      {hasGarbage && <td class="number">{row.garbage > 0 && <Figure row={row} is="garbage" unit="time" />}</td>}
      <td class="number"><Figure row={row} is="total" unit="time" /></td>
    </>
  );
  return (
    <details class="as-table">
      <summary>
        The same as a table:{" "}
        <span data-table="tracks" data-row="all">
          <Figure row={answer} is="from" unit="time" /> to <Figure row={answer} is={answer.to > answer.span[1] ? "span.1" : "to"} unit="time" />
        </span>
      </summary>
      <div class="scroll" tabIndex={0} role="region" aria-label="Time by thread and activity">
        <table data-table="tracks">
          <thead>
            <tr>
              <th scope="col">Track</th>
              {names.map((name) => (
                <th key={name} scope="col" class="number" title={ACTIVITIES[name].about}>
                  {ACTIVITIES[name].title}
                </th>
              ))}
              {hasGarbage && <th scope="col" class="number">garbage collection</th>}
              <th scope="col" class="number">all</th>
            </tr>
          </thead>
          <tbody>
            {answer.processes.map(({ pid, command, row, tracks }) => (
              <Fragment key={pid}>
                <tr data-row={`process ${pid}`}>
                  <th scope="row">
                    {pid} {command}
                  </th>
                  {cells(row)}
                </tr>
                {tracks.map((track) => (
                  <tr key={`${track.is}${track.number}`} data-row={`${track.is} ${track.number}`}>
                    <th scope="row" class="inner">
                      {track.is} {track.is === "task" && track.name !== "" ? "" : track.number} {track.name}
                    </th>
                    {cells(track.row)}
                  </tr>
                ))}
              </Fragment>
            ))}
            <tr data-row="all">
              <th scope="row">All <Figure row={answer} is="tracks" /> tracks</th>
              {cells(answer.all)}
            </tr>
          </tbody>
        </table>
      </div>
    </details>
  );
}
