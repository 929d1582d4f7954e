// All tests, or the parts that are named: `node test/all.mjs numbers access`. They run one after
// the other with one browser, because the machine's time is what they wait for.

import { readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { after } from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";

import { close } from "./harness/page.mjs";

const here = dirname(fileURLToPath(import.meta.url));
const wanted = process.argv.slice(2);

const files = readdirSync(here)
  .filter((name) => name.endsWith(".test.mjs"))
  .filter((name) => wanted.length === 0 || wanted.includes(name.replace(".test.mjs", "")))
  .sort();
// One module imports them all, so that no test can end before the last one is known: with
// `--test-name-pattern`, the hook below would run between two files, and leave a browser open.
const imports = files.map((name) => `import ${JSON.stringify(pathToFileURL(join(here, name)).href)};`);
await import(`data:text/javascript,${encodeURIComponent(imports.join("\n"))}`);
after(close);
