// axe finds no serious and no critical fault in any view, in light and dark, on a desk's screen and
// on a phone's; and nothing but what scrolls by itself is wider than the screen. Words on pictures,
// which axe does not see, have the contrast of other words, and the focus is seen wherever Tab leads.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { test } from "node:test";

import { contrast, fillsOf, over, rgb } from "./harness/colours.mjs";
import { needsBrowser, openAll, withPage } from "./harness/page.mjs";
import { ring } from "./harness/ring.mjs";
import { filesOf, GIVEN, recording } from "./harness/recordings.mjs";
import { tallerThanScreen, widerThanScreen } from "./harness/layout.mjs";
import { hashOf, viewsOf } from "./views.mjs";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** Places beside the views themselves: what a reader opens in them. */
const PLACES = [
  ["functions", "", "focus=walk thread=helper"],
  ["flame", "function=parse", ""],
  ["source", "line=11", ""],
  ["tree", "shape=inverted", ""],
];

/** What is looked at of other recordings, and of several; nothing named is all. */
const OTHERS = {
  wall: ["overview", "timeline"],
  processes: ["overview"],
  native: ["assembly", "source"],
  memory: ["memory", "source"],
  calls: ["exact"],
  lines: ["exact"],
  exceptions: ["exact"],
  cpus: ["compare"],
  heaps: ["heap"],
};

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

// Colours hang on the theme, and places on the width.
for (const [theme, width] of [["light", 1280], ["dark", 390]]) {
  test(`axe, ${theme}, ${width} px`, needsBrowser, async () => {
    const found = [];
    const look = async (page, hash) => {
      await page.go(hash);
      found.push(...(await faults(page)).map((fault) => `${hash} ${fault}`));
      found.push(...(await widerThanScreen(page)).map((what) => `${hash} is wider than the screen: ${what}`));
    };
    await withPage(recording("cpu"), { theme, width, height: 844 }, async (page) => {
      const views = viewsOf("cpu", await page.ask("about")).filter(({ isTab }) => !isTab);
      for (const [name, place, filter] of [...views.map(({ name, place }) => [name, place ?? "", ""]), ...PLACES]) {
        await look(page, hashOf(name, place, filter));
      }
      await page.page.getByRole("button", { name: "Keys" }).click();
      await page.page.getByRole("button", { name: "Save as" }).click();
      found.push(...(await faults(page)).map((fault) => `menu and keys: ${fault}`));
    });
    for (const [other, wanted] of Object.entries(OTHERS)) {
      await withPage(filesOf(other), { theme, width, height: 844, hash: `#${wanted[0]}` }, async (page) => {
        const views = viewsOf(other, await page.ask("about")).filter(({ name, isTab }) => wanted.includes(name) && !isTab);
        for (const { name, place, opens } of views) {
          await look(page, hashOf(name, place));
          if (opens !== undefined) {
            await openAll(page, opens);
            found.push(...(await faults(page)).map((fault) => `${name} of ${other}, opened: ${fault}`));
          }
        }
      });
    }
    for (const [names, hashes] of COMPARED) {
      await withPage(names.map(recording), { theme, width, height: 844, hash: `#${hashes[0]}` }, async (page) => {
        for (const hash of hashes) {
          await look(page, `#${hash}`);
        }
      });
    }
    assert.deepEqual(found, []);
  });
}

// Recordings of others: each view and tab, in both themes and widths.
for (const file of GIVEN) {
  for (const [theme, width] of [["light", 1280], ["dark", 1280], ["light", 390], ["dark", 390]]) {
    test(`axe of ${file}, ${theme}, ${width} px`, needsBrowser, () =>
      withPage([file], { theme, width, height: 844 }, async (page) => {
        const found = [];
        for (const { name, place, opens } of viewsOf(file, await page.ask("about"))) {
          const hash = hashOf(name, place);
          await page.go(hash);
          if (opens !== undefined) {
            await openAll(page, opens);
          }
          const seen = [...(await faults(page)), ...(await widerThanScreen(page)), ...(await tallerThanScreen(page))];
          found.push(...seen.map((what) => `${hash}: ${what}`));
        }
        assert.deepEqual(found, []);
      }));
  }
}

test("words on boxes have a contrast of 4.5 with every fill, also where a search leaves boxes pale", async () => {
  const { fills, inks, pale, paleWords } = await fillsOf();
  assert.ok(fills.length > 30, `${fills.length} fills`);
  const grounds = { light: [255, 255, 255], dark: [0x16, 0x19, 0x1d] };
  const low = [];
  ["light", "dark"].forEach((theme, at) => {
    const check = (what, ink, ground) => {
      const found = contrast(over(ink, ground), ground);
      if (found < 4.5) {
        low.push(`${theme}: ${what} ${found.toFixed(2)}`);
      }
    };
    for (const fill of fills) {
      check(`words on ${fill[at]}`, rgb(inks[theme].ink), rgb(fill[at]));
      check(`soft words on ${fill[at]}`, rgb(inks[theme].softInk), rgb(fill[at]));
      const faded = over([...rgb(fill[at]).slice(0, 3), pale], grounds[theme]);
      check(`words on ${fill[at]} that is pale`, [...rgb(inks[theme].ink).slice(0, 3), paleWords], faded);
    }
  });
  assert.deepEqual(low, []);
});

/** What Tab is followed through: one of each kind of element in a view is enough. */
const MOST_STEPS = 45;

for (const theme of ["light", "dark"]) {
  test(`the focus has a ring with a contrast of 3 in every view, ${theme}`, needsBrowser, () =>
    withPage(recording("cpu"), { theme, width: 1280, height: 844 }, async (page) => {
      const seen = new Set();
      const faint = [];
      const views = viewsOf("cpu", await page.ask("about")).filter(({ isTab }) => !isTab);
      for (const { name, place } of views) {
        await page.go(hashOf(name, place));
        await page.page.locator("nav.views a[aria-current]").focus();
        for (let steps = 0; steps < MOST_STEPS; steps++) {
          await page.page.keyboard.press("Tab");
          const found = await ring(page.page, seen);
          if (found === undefined) {
            break;
          }
          if (found.isNew && found.pixels < found.outline) {
            faint.push(`${name}: ${found.what} ${found.pixels} of ${found.outline} px`);
          }
        }
      }
      assert.ok(seen.size > 20, `${seen.size} kinds of elements`);
      assert.deepEqual(faint, []);
    }));
}
