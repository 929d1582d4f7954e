// All tests, or the parts that are named: `node test/all.mjs numbers access`. They run one after
// the other with one browser, because the machine's time is what they wait for.

import { readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { after } from "node:test";
import { fileURLToPath } from "node:url";

import { close } from "./harness/page.mjs";

const here = dirname(fileURLToPath(import.meta.url));
const wanted = process.argv.slice(2);

after(close);
for (const file of readdirSync(here).filter((name) => name.endsWith(".test.mjs")).sort()) {
  if (wanted.length === 0 || wanted.includes(file.replace(".test.mjs", ""))) {
    await import(join(here, file));
  }
}
