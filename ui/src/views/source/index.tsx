// Source files by heat, and the whole text of one with its bars. Functions of the file stand beside
// it, and so do the callers and callees of the chosen line.

import { useMemo } from "preact/hooks";

import type { AboutRecording } from "../../about";
import { isAnswered, useAnswer } from "../../ask";
import { distinct } from "../../numbers";
import { shared } from "../../parts/asked";
import { Figure } from "../../parts/figure";
import { Waiting } from "../../parts/waiting";
import { change, link, usePlace } from "../../place";
import type { CountedLines, File, Lines, Trace } from "../../reports";
import { FunctionsOf } from "./functions_of";
import { Listing } from "./listing";

/** Files that were counted, in the list. */
const MOST_COUNTED = 300;

export function SourceView({ recording }: { recording: AboutRecording }) {
  const place = usePlace();
  const counted = useCountedFiles(recording);
  const question = {
    ...shared(place),
    what: "lines",
    all_lines: true,
    limit: 500,
    min_share: 0,
    statements: true,
    sampled: true,
    total: recording.has.cells,
    libraries: place.values.libraries,
  };
  const answer = useAnswer<Lines>("report", question);
  // A file has its own lines alone.
  const hasLibraries = isAnswered("report", { ...question, libraries: "shown" });
  return (
    <Waiting answer={answer}>
      {(lines) => {
        const sampled = new Set(lines.files.map(({ file }) => file));
        const others = counted.filter((path) => !sampled.has(path));
        const names = distinct([...lines.files.map(({ file }) => file), ...others]);
        const wanted = place.values.file ?? lines.files[0]?.file ?? others[0];
        const file = lines.files.find(({ file }) => file === wanted) ?? (wanted === undefined ? undefined : withoutSamples(wanted));
        return (
          <div class="source">
            <div class="side">
              <nav class="files" aria-label="Files" data-table="files">
                {hasLibraries && (
                  <label>
                    <input
                      type="checkbox"
                      checked={place.values.libraries === "shown"}
                      onChange={(event) => change({ libraries: event.currentTarget.checked ? "shown" : "" })}
                    />{" "}
                    libraries too
                  </label>
                )}
                {lines.files.map((row) => (
                  <a
                    key={row.file}
                    data-row={row.file}
                    href={link("source", { file: row.file })}
                    aria-current={row === file ? "true" : undefined}
                    title={row.file}
                    onClick={(event) => {
                      event.preventDefault();
                      change({ file: row.file, line: "" });
                    }}
                  >
                    <b><Figure row={row} is="self_share" /></b> {names.get(row.file)}
                  </a>
                ))}
                {others.map((path) => (
                  <a
                    key={path}
                    href={link("source", { file: path })}
                    aria-current={path === wanted ? "true" : undefined}
                    title={`${path}: it was counted, and has no sample`}
                    onClick={(event) => {
                      event.preventDefault();
                      change({ file: path, line: "" });
                    }}
                  >
                    <b class="soft">counted</b> {names.get(path)}
                  </a>
                ))}
                {lines.files_left_out > 0 && <span class="soft" data-row="all"><Figure row={lines} is="files_left_out" /> files without a hot line</span>}
              </nav>
              {file !== undefined && <FunctionsOf file={file.file} />}
            </div>
            {file === undefined ? <p class="soft">No line of source has any time here: native programs name their lines where they are built with debug information (<code>-g</code>). “Functions” has where their time is.</p> : <Listing key={file.file} file={file} recording={recording} />}
          </div>
        );
      }}
    </Waiting>
  );
}

/** A file of which no line has a sample: it has text, and what was counted. */
function withoutSamples(file: string): File {
  const none = { self_samples: 0, self_share: 0, self_share_low: null, self_share_high: null, self_python_share: 0, self_native_share: 0, self_system_share: 0 };
  return { file, language: "", source: "", lines: [], ...none };
}

/** The files with functions whose calls or lines were counted. */
function useCountedFiles(recording: AboutRecording): string[] {
  const { filter, recording: number } = shared(usePlace());
  const bare = { filter, recording: number, bare: true, limit: 20000 };
  const ofLines = { ...bare, what: "counted_lines" };
  const ofCalls = { ...bare, what: "trace" };
  const lines = useAnswer<CountedLines>(recording.has.counted_lines && isAnswered("report", ofLines) ? "report" : undefined, ofLines);
  const calls = useAnswer<Trace>(recording.has.calls && isAnswered("report", ofCalls) ? "report" : undefined, ofCalls);
  return useMemo(() => {
    const functions = [...(lines.value?.functions ?? []), ...(calls.value?.groups[0]?.functions ?? [])];
    const paths = functions.flatMap(({ file }) => (file !== null && file.startsWith("/") ? [file] : []));
    return [...new Set(paths)].slice(0, MOST_COUNTED);
  }, [lines.value, calls.value]);
}
