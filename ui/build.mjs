// Builds the page: one HTML file with its script and its style inside, which the command carries.
// The same sources make the same bytes, so that a check can compare them.

import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import * as esbuild from "esbuild";

import { types } from "./schema.mjs";

const here = dirname(fileURLToPath(import.meta.url));
const out = process.argv[2] ?? join(here, "dist", "page.html");

writeFileSync(
  join(here, "src", "reports.ts"),
  types(readFileSync(join(here, "..", "docs", "json.md"), "utf8")),
);

const built = await esbuild.build({
  absWorkingDir: here,
  entryPoints: { script: "src/main.tsx", style: "src/style.css" },
  outdir: "unused",
  write: false,
  bundle: true,
  minify: true,
  format: "iife",
  target: "es2022",
  charset: "utf8",
  legalComments: "none",
  jsx: "automatic",
  jsxImportSource: "preact",
});

const text = (ending) => built.outputFiles.find((file) => file.path.endsWith(ending)).text.trim();
const script = text(".js");
// The end of a script inside a script would end it.
if (/<\/script|<!--/i.test(script)) {
  throw new Error("the script contains the end of a script");
}
const page = readFileSync(join(here, "src", "page.html"), "utf8")
  .replace("/*style*/", () => text(".css"))
  .replace("/*script*/", () => script);
mkdirSync(dirname(out), { recursive: true });
writeFileSync(out, page);
console.log(`${out}: ${page.length} bytes`);

// The terms of the packages in the page, which go wherever the command goes.
const { dependencies } = JSON.parse(readFileSync(join(here, "package.json"), "utf8"));
const notices = Object.keys(dependencies).map((name) => {
  const folder = join(here, "node_modules", name);
  const { version, license } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  const text = readFileSync(join(folder, "LICENSE"), "utf8").trim();
  return `\n${"=".repeat(80)}\n${name} ${version} (${license})\n${"-".repeat(80)}\n${text}\n`;
});
writeFileSync(
  join(dirname(out), "notices.txt"),
  `\nIts page contains these packages:\n${notices.join("")}`,
);
