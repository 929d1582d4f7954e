// The keyboard alone: each view is reached by its number, something in it is chosen and opened, and
// the bar at the bottom reads it back.

import assert from "node:assert/strict";
import { test } from "node:test";

import { needsBrowser, withPage } from "./harness/page.mjs";
import { filesOf } from "./harness/recordings.mjs";

/** The hash of the address, as it reads. */
const hash = (page) => page.page.evaluate(() => decodeURIComponent(location.hash.replaceAll("+", " ")));
const bar = (page) => page.page.locator("footer").innerText();

/** Goes to a view by the number of its tab. */
async function toView(page, title) {
  const titles = await page.page.locator("nav.views a").allInnerTexts();
  const at = titles.indexOf(title);
  assert.ok(at >= 0, `${title} is none of ${titles}`);
  await page.page.locator("#main").focus();
  if (at < 9) {
    await page.page.keyboard.press(String(at + 1));
  } else {
    await page.page.locator("nav.views a").nth(at).focus();
    await page.page.keyboard.press("Enter");
  }
  await page.settled();
  assert.equal(await page.page.locator("nav.views a[aria-current]").innerText(), title);
}

/** Presses Tab until an element has the focus. */
async function tabTo(page, selector, from = "#main") {
  await page.page.locator(from).first().focus();
  for (let steps = 0; steps < 120; steps++) {
    await page.page.keyboard.press("Tab");
    if (await page.page.evaluate((selector) => document.activeElement.matches(selector), selector)) {
      return;
    }
  }
  assert.fail(`Tab does not come to ${selector}`);
}

/**
 * What a reader does in a view: the element that Tab comes to, the keys, what the address then has,
 * and what the bar says before the last key.
 */
const STEPS = {
  cpu: [
    ["Timeline", ".plot", ["ArrowRight", "Shift+ArrowRight", "Shift+ArrowRight", "Enter"], /filter=from=[\d.]+ to=[\d.]+/, /at [\d.]+/],
    ["Heatmap", ".heat canvas", ["ArrowUp", "ArrowDown", "Enter"], /squares=\d+-\d+/, /on a CPU/],
    ["Tree", ".tree", ["ArrowDown", "ArrowDown", "Home", "ArrowDown", "Enter"], /^#tree\?.*path=/, /total .* self/],
    ["Functions", ".table", ["End", "Home", "ArrowDown", "Enter"], /^#flame\?.*function=/, /self .* total/],
    ["Source", ".code a", ["Enter"], /^#source\?.*line=\d+/, undefined],
  ],
  memory: [
    ["Memory", "[role=tab][aria-selected=true]", ["ArrowRight"], /table=functions/, undefined],
    ["Memory", ".table", ["ArrowDown", "ArrowUp"], /^#memory/, /allocated .* live/],
    ["Memory", ".series", ["Home", "ArrowRight", "Enter"], /at=[\d.]+.*table=held/, undefined],
  ],
  calls: [["Counted", ".table", ["ArrowDown", "Enter"], /call=/, /calls/]],
  lines: [["Counted", ".table", ["ArrowDown", "Enter"], /file=.*line=/, /ms|µs|s/]],
  exceptions: [["Counted", ".table", ["ArrowDown"], /^#exact/, /raised by/]],
  cpus: [
    ["Compare", ".changes .table", ["End", "Home"], /^#compare/, /before, .* after/],
    ["Compare", "main canvas", ["ArrowDown", "ArrowDown", "Enter"], /path=/, /before .* after/],
  ],
  heaps: [
    ["Heap", ".table", ["ArrowDown", "Enter"], /of_type=/, /would go with them/],
    ["Heap", "[role=tab][aria-selected=true]", ["ArrowRight", "ArrowRight"], /heap=tree/, undefined],
    ["Heap", ".dominators", ["ArrowDown", "ArrowRight", "ArrowUp", "ArrowDown", "Enter"], /heap=path.*object=@|object=@.*heap=path/, /would go with it/],
  ],
};

for (const [name, steps] of Object.entries(STEPS)) {
  test(`the keyboard alone chooses, opens and reads back in the views of ${name}`, needsBrowser, () =>
    withPage(filesOf(name), {}, async (page) => {
      let last = "";
      for (const [title, selector, keys, wanted, told] of steps) {
        if (title !== last || (await page.page.locator("nav.views a[aria-current]").innerText()) !== title) {
          await page.go("#");
          await toView(page, title);
          last = title;
        }
        await tabTo(page, selector);
        for (const [at, key] of keys.entries()) {
          if (at === keys.length - 1 && told !== undefined && key === "Enter") {
            assert.match(await bar(page), told, `the bar of ${title} at ${selector}`);
          }
          await page.page.keyboard.press(key);
          await page.settled();
        }
        if (told !== undefined && keys.at(-1) !== "Enter") {
          assert.match(await bar(page), told, `the bar of ${title} at ${selector}`);
        }
        assert.match(await hash(page), wanted, `${title} at ${selector}`);
      }
    }));
}
