// Files and lines as links that open the reader's editor. The command says which links the editor
// knows; a page that is a file has none, because it may be on another machine.

import type { ComponentChildren } from "preact";

import type { About, EditorLinks } from "../about";
import { isFile, useAnswer } from "../ask";

/** A link to a line, or to the file where there is no line. */
export type LinkTo = (file: string, line?: number | null) => string | undefined;

/** The links of the reader's editor. */
export function useEditor(): LinkTo {
  const { value } = useAnswer<About>(isFile ? undefined : "about");
  const links = value?.editor ?? undefined;
  return (file, line) => (links === undefined ? undefined : linkTo(links, file, line));
}

/** The link. A name that is no path of this machine has none. */
function linkTo(links: EditorLinks, file: string, line?: number | null): string | undefined {
  if (!file.startsWith("/")) {
    return undefined;
  }
  const path = encodeURIComponent(file)
    .replaceAll("%2F", "/")
    .replace(/[!'()*]/g, (letter) => `%${letter.charCodeAt(0).toString(16).toUpperCase()}`);
  return (line ? links.line : links.file).replace("{path}", () => path).replace("{line}", String(line ?? ""));
}

/** Something that opens the editor where that is possible, and is as it is where not. */
export function InEditor({ to, file, line, children, isMark = false }: { to: LinkTo; file: string; line?: number | null; children?: ComponentChildren; isMark?: boolean }) {
  const href = to(file, line);
  if (href === undefined) {
    return <>{children}</>;
  }
  const words = `Open ${line ? `line ${line}` : "the file"} in the editor`;
  return (
    <a class={isMark ? "edit" : "in-editor"} href={href} title={words} aria-label={isMark ? words : undefined} onClick={(event) => event.stopPropagation()}>
      {isMark ? "✎" : children}
    </a>
  );
}
