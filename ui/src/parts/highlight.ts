// The words of source in colours. The library finds them; its tree is walked here, so that source is
// never read as HTML.

import hljs from "highlight.js/lib/core";
import c from "highlight.js/lib/languages/c";
import cpp from "highlight.js/lib/languages/cpp";
import javascript from "highlight.js/lib/languages/javascript";
import julia from "highlight.js/lib/languages/julia";
import python from "highlight.js/lib/languages/python";
import rust from "highlight.js/lib/languages/rust";

hljs.registerLanguage("python", python);
hljs.registerLanguage("rust", rust);
hljs.registerLanguage("c", c);
hljs.registerLanguage("cpp", cpp);
hljs.registerLanguage("julia", julia);
hljs.registerLanguage("javascript", javascript);

const LANGUAGES: Record<string, string> = {
  py: "python", pyx: "python", pyi: "python", rs: "rust", c: "c", h: "c", cc: "cpp", cpp: "cpp", cxx: "cpp", hpp: "cpp",
  jl: "julia", js: "javascript", ts: "javascript", mjs: "javascript",
};

/** A piece of a line, with what it is. */
export interface Piece {
  text: string;
  is: string;
}

type Token = string | { scope?: string; children: Token[] };

/** The lines of a text in pieces. A text without a known language, or a very long one, is one piece a line. */
export function highlighted(lines: (string | null)[], file: string): Piece[][] {
  const ending = file.slice(file.lastIndexOf(".") + 1).toLowerCase();
  // Cells of a notebook have no ending.
  const language = LANGUAGES[ending] ?? (file.startsWith("<ipython") || file.includes("/ipykernel_") ? "python" : undefined);
  const length = lines.reduce((sum, line) => sum + (line?.length ?? 0), 0);
  if (language === undefined || length > 600_000) {
    return lines.map((line) => [{ text: line ?? "", is: "" }]);
  }
  const result = hljs.highlight(lines.map((line) => line ?? "").join("\n"), { language, ignoreIllegals: true });
  const root = (result as unknown as { _emitter: { rootNode: Token } })._emitter.rootNode;
  const out: Piece[][] = [[]];
  const walk = (token: Token, is: string) => {
    if (typeof token === "string") {
      token.split("\n").forEach((text, at) => {
        if (at > 0) {
          out.push([]);
        }
        if (text !== "") {
          out[out.length - 1].push({ text, is });
        }
      });
      return;
    }
    const scope = token.scope?.split(".")[0] ?? is;
    token.children.forEach((child) => walk(child, scope));
  };
  walk(root, "");
  return out;
}
