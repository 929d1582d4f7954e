// A place of a report: the file with its line, and the function. A link to its source.

import { base } from "../numbers";
import { link, show } from "../place";

export interface At {
  function?: string | null;
  file?: string | null;
  line?: number | null;
}

/** The place in words. */
export function placeWords(at: At | null | undefined): string {
  if (at === null || at === undefined) {
    return "[the runtime itself]";
  }
  const where = at.file ? `${base(at.file)}${at.line ? `:${at.line}` : ""}` : "";
  return [where, at.function ?? ""].filter((part) => part !== "").join(" ") || "[the runtime itself]";
}

export function Where({ at, isFunction = false }: { at: At | null | undefined; isFunction?: boolean }) {
  if (at === null || at === undefined || (!at.file && !at.function)) {
    return <span class="soft">[the runtime itself]</span>;
  }
  const { file, line } = at;
  const name = at.function ?? "";
  const where = file ? `${base(file)}${line ? `:${line}` : ""}` : "";
  const source = file && line ? { file, line: String(line), of: "", at: "" } : undefined;
  const linked = source === undefined ? where : (
    <a
      href={link("source", source)}
      title={`${file}:${line}`}
      onClick={(event) => {
        event.preventDefault();
        event.stopPropagation();
        show("source", source);
      }}
    >
      {where}
    </a>
  );
  return isFunction ? (
    <span class="where">
      <b>{name}</b> <span class="soft">{linked}</span>
    </span>
  ) : (
    <span class="where">
      {linked} <span class="soft">{name}</span>
    </span>
  );
}
