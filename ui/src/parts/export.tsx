// A menu that saves the current view: as a picture, a table, or a file for another tool.

import { useState } from "preact/hooks";

import type { AboutRecording } from "../about";
import { ask, isFile } from "../ask";
import { usePlace } from "../place";
import type { Functions } from "../reports";
import { shared } from "./asked";
import { tell } from "./details";
import { bytesOf, csv, save } from "./files";
import { Menu, type Choice } from "./menu";
import { picturesNow, savePicture } from "./pictures";

const FORMATS: [format: string, title: string, ending: string][] = [
  ["pprof", "pprof", "pb.gz"],
  ["speedscope", "speedscope", "speedscope.json"],
  ["collapsed", "folded stacks", "folded"],
  ["chrome", "Chrome's trace", "trace.json"],
  ["callgrind", "callgrind", "callgrind"],
  ["flame", "flame graph, as SVG", "svg"],
  ["graph", "call graph, as SVG", "graph.svg"],
  ["square", "square map, as SVG", "square.svg"],
];

export function Export({ recording }: { recording: AboutRecording }) {
  const place = usePlace();
  const [isOpen, setOpen] = useState(false);
  const stem = recording.name.replace(/\.profundo$/, "");
  const guarded = (work: Promise<void>) => void work.catch((error: Error) => tell(<span class="warning">{error.message}</span>));
  const choices: Choice[] = [];
  const pictures = isOpen ? picturesNow() : [];
  for (const picture of pictures) {
    const name = pictures.length === 1 ? "This picture" : picture.name;
    for (const ending of ["png", "svg"] as const) {
      choices.push({ title: `${name}, as ${ending.toUpperCase()}`, run: () => guarded(savePicture(picture, stem, ending)) });
    }
  }
  if (!isFile) {
    choices.push({
      title: "Functions, as CSV",
      run: () => guarded(functionsAsCsv({ ...shared(place) }, `${stem}.functions.csv`)),
    });
    for (const [format, title, ending] of FORMATS) {
      choices.push({
        title: `What passes the filter, as ${title}`,
        run: () => guarded(bytesOf("export", { ...shared(place), format }).then((bytes) => save(bytes, `${stem}.${ending}`))),
      });
    }
  }
  return (
    <span class="export">
      <button type="button" aria-haspopup="menu" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        Save as …
      </button>
      {isOpen && <Menu x={0} y={30} choices={choices} onClose={() => setOpen(false)} />}
    </span>
  );
}

async function functionsAsCsv(values: Record<string, unknown>, name: string): Promise<void> {
  const report = await ask<Functions>("report", { ...(values as Record<string, string>), what: "functions", limit: 1_000_000 });
  const head = ["function", "file", "line", "self_samples", "self_seconds", "self_share", "self_share_low", "self_share_high", "total_samples", "total_seconds", "total_share"];
  const rows = report.functions.map((row) => head.map((name) => (row as unknown as Record<string, string | number | null>)[name]));
  save(csv([head, ...rows]), name);
}
