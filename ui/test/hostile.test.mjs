// A recording whose names attack the page: none of them runs, none breaks the layout, each is shown
// as the text that it is. The recording is `crates/profundo-formats/examples/hostile_names.rs`.

import assert from "node:assert/strict";
import { test } from "node:test";

import { report } from "./harness/command.mjs";
import { tallerThanScreen, widerThanScreen } from "./harness/layout.mjs";
import { compare, numbersIn } from "./harness/numbers.mjs";
import { needsBrowser, offline, open, openAll, point, withPage } from "./harness/page.mjs";
import { FOLDER, recording } from "./harness/recordings.mjs";
import { hashOf, viewsOf } from "./views.mjs";

const ATTACKS = ["<img src=x onerror=hacked=1>", "</script><script>hacked=1</script>", "javascript:hacked=1", "\"><svg onload=hacked=1>", "__proto__"];

/** What has come into the page that no view puts there. */
const foreign = (page) =>
  page.page.evaluate(() => {
    const found = [];
    if (window.hacked !== undefined) {
      found.push("a script ran");
    }
    for (const element of document.querySelectorAll("iframe, object, embed, form[action], base, link, #page script, #page style, #page svg:not(.sparkline, [role=application])")) {
      found.push(element.outerHTML.slice(0, 80));
    }
    for (const element of document.querySelectorAll("*")) {
      for (const { name, value } of element.attributes) {
        const isAddress = name === "href" || name === "src" || name === "xlink:href";
        if (name.startsWith("on") || name === "srcdoc" || (isAddress && !/^(#|blob:)/.test(value))) {
          found.push(`${element.tagName} ${name}=${value.slice(0, 60)}`);
        }
      }
    }
    return found;
  });

/** Checks the place that the page shows. */
async function check(page, what) {
  assert.deepEqual(await foreign(page), [], what);
  assert.deepEqual(await widerThanScreen(page), [], what);
  assert.deepEqual(await tallerThanScreen(page), [], what);
}

/** The files whose names attack: a recording, two to compare, one with counts, a heap snapshot. */
const SETS = { hostile: ["hostile"], attack: ["hostile", "hostile2"], counted: ["counted"], attacks: ["attacks"] };
/** What only a set shows. A snapshot of attacks has no `dict`. */
const ONLY = { attack: ["compare"], counted: ["exact"] };
const isShown = (set, { name, place }) => (ONLY[set]?.includes(name) ?? true) && !place?.includes("object=dict");

for (const [set, names] of Object.entries(SETS)) {
  for (const width of [1280, 390]) {
    test(`hostile names are text in each view of ${set}, ${width} px`, needsBrowser, () => {
      const files = names.map(recording);
      return withPage(files, { width }, async (page) => {
        // A path of 100 kB is longer than an address may be. Its listing has the lines of the recording.
        page.expected.push(/414 \(URI Too Long\)/);
        const about = await page.ask("about");
        const [one = { has: {} }] = about.recordings;
        for (const { name, place, tables, points, opens } of viewsOf(set, about).filter((view) => isShown(set, view))) {
          const hash = hashOf(name, place);
          await page.go(hash);
          if (opens !== undefined) {
            await openAll(page, opens);
          }
          await check(page, hash);
          if (width > 1000 && tables !== undefined) {
            const values = { ...Object.fromEntries(new URLSearchParams(place)), hasMemory: one.has.memory };
            compare(await numbersIn(page), await tables({ file: files[0], files, filter: "", page, values, about: one }), hash);
          }
          if (points !== undefined && (await point(page, points))) {
            await check(page, `the bar of ${hash}`);
          }
        }
      });
    });
  }
}

test("a search among hostile names finds each as it is", needsBrowser, () =>
  withPage(recording("hostile"), { hash: "#functions" }, async (page) => {
    for (const attack of ATTACKS) {
      await page.page.getByLabel("Search").fill(attack);
      const names = await page.page.locator("tbody tr[data-row]").allTextContents();
      assert.ok(names.length > 0 && names.every((name) => name.includes(attack)), `${attack} is not shown: ${names}`);
    }
  }));

test("hostile names are text in filters, searches, menus, the bar and titles", needsBrowser, () =>
  withPage(recording("hostile"), {}, async (page) => {
    const { functions } = report(recording("hostile"), "functions", "", ["--limit", "20000"]);
    const names = functions.map((row) => row.function ?? "");
    for (const { function: name, file } of functions.filter((row) => (row.function ?? "").length < 200 && row.file?.endsWith(".py"))) {
      const what = JSON.stringify(name);
      await page.go(`#flame?${new URLSearchParams({ function: name, file })}`);
      await check(page, `the sandwich of ${what}`);
      const refusal = await page.page.evaluate(() => document.querySelector("main .refusal")?.textContent);
      assert.equal(refusal, undefined, what);
      await page.go(`#functions?${new URLSearchParams({ filter: `function="${name.replace(/["\\]/g, "\\$&")}"` })}`);
      await check(page, `a filter by ${what}`);
      assert.equal(await page.page.locator(".chip").count(), 1, what);
      await page.page.locator("tbody tr[data-row]").first().hover();
      await check(page, `the bar for ${what}`);
    }
    for (const name of names.filter((name) => name.length >= 200)) {
      await page.go(`#flame?search=${encodeURIComponent(name.slice(0, 3000))}`);
      await check(page, `a search for ${name.length} letters`);
    }
    for (const filter of ["process", "thread", "task", "span"]) {
      await page.page.getByLabel("What to filter by").selectOption(filter);
      await check(page, `choices of ${filter}`);
    }
  }));

test("a name that turns a line around leaves the numbers behind it in their order", needsBrowser, () =>
  withPage(recording("hostile"), { hash: "#functions" }, async (page) => {
    await page.page.getByLabel("Search").fill("turned");
    await page.page.locator("tbody tr[data-row]").first().hover();
    await page.page.locator("footer [data-number]").first().waitFor();
    const lefts = await page.page.locator("footer b, footer [data-number]").evaluateAll((list) => list.map((element) => element.getBoundingClientRect().left));
    assert.ok(lefts.length > 4);
    assert.deepEqual(lefts, [...lefts].sort((a, b) => a - b));
  }));

test("hostile names are text in a file without a server", needsBrowser, async () => {
  const file = offline(recording("hostile"), `${FOLDER}/hostile.html`);
  for (const width of [1280, 390]) {
    const page = await open(file, { width });
    for (const hash of ["#overview", "#functions", "#flame", "#source", "#tree"]) {
      await page.go(hash);
      await check(page, `${hash}, ${width} px`);
    }
    await page.close();
  }
});
