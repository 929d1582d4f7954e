// Every number on the page is the number that `profundo report --json` prints, with each filter.

import assert from "node:assert/strict";
import { test } from "node:test";

import { report } from "./harness/command.mjs";
import { compare, loose, numbersIn } from "./harness/numbers.mjs";
import { needsBrowser, withPage } from "./harness/page.mjs";
import { compareRows, compareWithFunctions, compareWithTree, pictureOf, withoutParts } from "./harness/picture.mjs";
import { RECORDINGS, recording } from "./harness/recordings.mjs";
import { hashOf, viewsOf } from "./views.mjs";

/** Filters by recording: each kind of term once, where it means something. */
const FILTERS = {
  cpu: ["thread=helper", "focus=^walk$", "from=0.05 to=0.3", "transform=collapse-recursion", "transform=merge-function:^squares$ hide=genexpr", "ignore=squares"],
  native: ["focus=mix", "transform=drop-function:^divide$"],
  wall: ["thread=wants"],
  memory: ["focus=."],
  spans: ["span=query"],
  processes: ["focus=burn"],
};

for (const name of Object.keys(RECORDINGS).filter((name) => name !== "hostile")) {
  for (const filter of ["", ...(FILTERS[name] ?? [])]) {
    test(`numbers of ${name}${filter === "" ? "" : `, ${filter}`}`, needsBrowser, async () => {
      const file = recording(name);
      await withPage(file, { hash: hashOf("overview", "", filter) }, (page) => compareViews(page, name, file, filter));
    });
  }
}

/** Goes through the views that the recording has. */
async function compareViews(page, recordingName, file, filter) {
  const about = await page.page.evaluate(() => fetch("api/about").then((answer) => answer.json()));
  let shown;
  for (const { name, place, least, tables, picture, isSplit, rows } of viewsOf(recordingName, about.recordings[0])) {
    const hash = hashOf(name, place, filter);
    const what = `${hash} of ${file.split("/").pop()}`;
    await page.go(hash);
    const refusal = await page.page.evaluate(() => document.querySelector("main .refusal")?.textContent);
    assert.equal(refusal, undefined, what);
    const numbers = await numbersIn(page);
    assert.ok(numbers.length >= least, `${what}: it shows ${numbers.length} numbers`);
    if (tables !== undefined) {
      compare(numbers, tables(file, filter), what);
    }
    assert.deepEqual(await loose(page), [], `${what}: numbers that say nothing of where they come from`);
    if (picture) {
      const drawn = await pictureOf(page);
      const { functions } = report(file, "functions", filter, ["--limit", "20000"]);
      compareWithFunctions(isSplit ? withoutParts(drawn) : drawn, functions, what);
      if (!isSplit) {
        shown = drawn;
        compareWithTree(shown, report(file, "tree", filter), what);
      }
    }
    if (rows) {
      compareRows(numbers, shown, what);
    }
  }
}
