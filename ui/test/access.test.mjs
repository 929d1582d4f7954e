// axe finds no serious and no critical fault in any view, in light and dark, on a desk's screen and
// on a phone's; and nothing but what scrolls by itself is wider than the screen.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { test } from "node:test";

import { needsBrowser, open, serve, withPage } from "./harness/page.mjs";
import { recording } from "./harness/recordings.mjs";
import { widerThanScreen } from "./harness/layout.mjs";
import { hashOf, VIEWS } from "./views.mjs";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** Places beside the views themselves: what a reader opens in them. */
const PLACES = [
  ["functions", "", "focus=walk thread=helper"],
  ["flame", "function=parse", ""],
  ["source", "line=11", ""],
  ["tree", "shape=inverted", ""],
];

/** Views that other recordings have. */
const OTHERS = [
  ["wall", "overview"],
  ["processes", "overview"],
  ["native", "assembly"],
  ["native", "source"],
];

/** Pages of two sides, and places in them. */
const COMPARED = [
  [["exact", "memory"], ["compare?of=allocated&state=every", "memory?table=stacks", "timeline"]],
];

/** The serious and the critical faults that axe finds. */
async function faults(page) {
  await page.page.evaluate(AXE);
  return page.page.evaluate(async () => {
    const { violations } = await window.axe.run(document, { resultTypes: ["violations"] });
    return violations
      .filter(({ impact }) => impact === "serious" || impact === "critical")
      .flatMap(({ id, nodes }) => nodes.slice(0, 3).map(({ html, failureSummary }) => `${id}: ${html.slice(0, 160)} ${failureSummary.replace(/\s+/g, " ").slice(0, 200)}`));
  });
}

for (const theme of ["light", "dark"]) {
  for (const width of [1280, 390]) {
    test(`axe, ${theme}, ${width} px`, needsBrowser, async () => {
      const file = recording("cpu");
      const places = [...VIEWS.filter(({ only }) => only === undefined).map(({ name, place }) => [name, place ?? "", ""]), ...PLACES];
      const found = [];
      await withPage(file, { theme, width, height: 844 }, async (page) => {
        for (const [name, place, filter] of places) {
          const hash = hashOf(name, place, filter);
          await page.go(hash);
          found.push(...(await faults(page)).map((fault) => `${hash} ${fault}`));
          found.push(...(await widerThanScreen(page)).map((what) => `${hash} is wider than the screen: ${what}`));
        }
        await page.page.getByRole("button", { name: "Keys" }).click();
        await page.page.getByRole("button", { name: "Save as" }).click();
        found.push(...(await faults(page)).map((fault) => `menu and keys: ${fault}`));
      });
      for (const [other, view] of OTHERS) {
        await withPage(recording(other), { theme, width, height: 844, hash: `#${view}` }, async (page) => {
          found.push(...(await faults(page)).map((fault) => `${view} of ${other}: ${fault}`));
          found.push(...(await widerThanScreen(page)).map((what) => `${view} of ${other} is wider than the screen: ${what}`));
        });
      }
      for (const [names, hashes] of COMPARED) {
        const { url } = await serve(...names.map(recording));
        const page = await open(url, { theme, width, height: 844 });
        for (const hash of hashes) {
          await page.go(`#${hash}`);
          found.push(...(await faults(page)).map((fault) => `${hash} of ${names}: ${fault}`));
          found.push(...(await widerThanScreen(page)).map((what) => `${hash} of ${names} is wider than the screen: ${what}`));
        }
        await page.close();
      }
      assert.deepEqual(found, []);
    });
  }
}
