// Screenshots of the page: each view of the recordings that are given, light and dark.
//
//   node shots.mjs OUT [--width 1280] [--theme light,dark] [--view NAME,…] [--small] RECORDING…
//
// `BEFORE,AFTER` is a page of two. With `name=RECORDING`, the pictures are named after `name`. `VIEW?VALUES`
// after `--view` is a place of the page. `--small` writes them with a palette, a third as large. The command
// is `target/debug/profundo`, as for the tests. A fault of the page is an error.

import { mkdirSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { parseArgs } from "node:util";

import { smaller } from "./png.mjs";
import { close, open, start } from "./test/harness/page.mjs";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    width: { type: "string", default: "1280" },
    height: { type: "string", default: "860" },
    theme: { type: "string", default: "light,dark" },
    view: { type: "string", default: "" },
    small: { type: "boolean", default: false },
  },
});
const [out, ...recordings] = positionals;
if (recordings.length === 0) {
  console.error("usage: node shots.mjs OUT [--width PIXELS] [--theme light,dark] [--view NAME,…] [--small] [NAME=]RECORDING…");
  process.exit(2);
}
mkdirSync(out, { recursive: true });
const size = { width: Number(values.width), height: Number(values.height) };
const wanted = values.view.split(",").filter((name) => name !== "");

for (const given of recordings) {
  const [, named, files] = /^(?:(\w+)=)?(.*)$/.exec(given);
  const stem = named ?? basename(files.split(",")[0]).replace(/\.\w+$/, "");
  const { url, stop } = await start(files.split(","));
  for (const theme of values.theme.split(",")) {
    const page = await open(url, { theme, ...size });
    page.page.on("response", (response) => response.status() >= 400 && console.error(`${response.status()}: ${response.url().split("/api/").pop()}`));
    const names = wanted.length > 0 ? wanted : await page.page.locator("nav.views a").evaluateAll((links) => links.map((link) => link.hash.slice(1).split("?")[0]));
    for (const name of names) {
      await page.go(`#${name}`);
      // Time to draw: a picture is drawn after its answer is there.
      await page.page.waitForTimeout(250);
      await page.settled();
      const path = join(out, `${stem}-${name.replace(/\W+/g, "-")}-${theme}${size.width === 1280 ? "" : `-${size.width}`}.png`);
      const png = await page.page.screenshot();
      const picture = values.small ? smaller(png) : png;
      writeFileSync(path, picture);
      console.log(`${path}: ${Math.round(picture.length / 1000)} kB`);
    }
    for (const fault of page.faults) {
      console.error(`${stem}, ${theme}: ${fault}`);
      process.exitCode = 1;
    }
    await page.context.close();
  }
  stop();
}
await close();
