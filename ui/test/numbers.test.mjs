// Every number on the page is the number that `profundo report --json` prints, with each filter.

import assert from "node:assert/strict";
import { test } from "node:test";

import { report } from "./harness/command.mjs";
import { compare, loose, numbersIn } from "./harness/numbers.mjs";
import { needsBrowser, openAll, point, withPage } from "./harness/page.mjs";
import { compareRows, compareWithFunctions, compareWithTree, pictureOf, withoutParts } from "./harness/picture.mjs";
import { filesOf, GIVEN, largestPart, RECORDINGS, SETS } from "./harness/recordings.mjs";
import { hashOf, viewsOf } from "./views.mjs";
import { weighed } from "./tables/sampled.mjs";

/** Filters by recording: each kind of term once, where it means something. */
const FILTERS = {
  cpu: ["thread=helper", "focus=^walk$", "from=0.05 to=0.3", "transform=collapse-recursion", "transform=merge-function:^squares$ hide=genexpr", "ignore=squares"],
  native: ["focus=mix", "transform=drop-function:^divide$"],
  wall: ["thread=wants"],
  memory: ["focus=."],
  spans: ["span=query"],
  processes: ["focus=burn"],
  collapsed: ["focus=^parse$", "transform=merge-function:^load$"],
  cpus: ["focus=^walk$"],
};

for (const name of [...Object.keys(RECORDINGS).filter((name) => RECORDINGS[name].isPart !== true), ...Object.keys(SETS).filter((name) => name !== "attack")]) {
  for (const filter of ["", ...(FILTERS[name] ?? [])]) {
    test(`numbers of ${name}${filter === "" ? "" : `, ${filter}`}`, needsBrowser, async () => {
      const files = filesOf(name);
      await withPage(files, { hash: hashOf("", "", filter) }, (page) => compareViews(page, name, files, filter));
    });
  }
}

// Recordings of others: whole, and one part of each.
for (const file of GIVEN) {
  for (const filter of ["", largestPart(file)]) {
    test(`numbers of ${file}${filter === "" ? "" : `, ${filter}`}`, needsBrowser, async () => {
      await withPage([file], { hash: hashOf("", "", filter) }, (page) => compareViews(page, file, [file], filter));
    });
  }
}

/** Goes through the views that the recording has, and says all that is wrong. */
async function compareViews(page, recordingName, files, filter) {
  const about = await page.ask("about");
  const faults = [];
  let shown;
  for (const view of viewsOf(recordingName, about)) {
    // A filter changes no more in another tab.
    if (view.isTab && filter !== "") {
      continue;
    }
    const what = `${hashOf(view.name, view.place, filter)} of ${recordingName}`;
    try {
      shown = (await compareView(page, view, { about, files, filter, shown, what })) ?? shown;
    } catch (error) {
      faults.push(error.message.startsWith(what) ? error.message : `${what}: ${error.message}`);
    }
  }
  assert.ok(faults.length === 0, faults.join("\n"));
}

/** One view: its numbers, those of the bar, and the picture, which it gives. */
async function compareView(page, view, { about, files, filter, shown, what }) {
  const { name, place, least, tables, picture, isSplit, rows, points, opens, chooses } = view;
  const [file] = files;
  await page.go(hashOf(name, place, filter));
  const refusal = await page.page.evaluate(() => document.querySelector("main .refusal")?.textContent);
  assert.equal(refusal, undefined, what);
  if (opens !== undefined) {
    await openAll(page, opens);
  }
  if (chooses !== undefined) {
    await page.page.locator(chooses).first().click();
    await page.settled();
  }
  const values = Object.fromEntries(new URLSearchParams((await page.page.evaluate(() => location.hash)).split("?")[1] ?? ""));
  const numbers = await numbersIn(page);
  // What a program of others has is not known: a binary without lines of source has none.
  assert.ok(numbers.length >= (GIVEN.includes(file) ? 0 : least), `${what}: it shows ${numbers.length} numbers`);
  const recording = about.recordings[0] ?? { has: {} };
  const known = await tables?.({ file, files, filter, page, values: { ...values, hasMemory: recording.has.memory }, about: recording });
  if (known !== undefined) {
    compare(numbers, known, what);
  }
  const isLoose = `${what}: numbers that say nothing of where they come from`;
  assert.equal((await loose(page)).join("\n"), "", isLoose);
  if (points !== undefined && (await point(page, points))) {
    compare(await numbersIn(page, "footer"), known, `the bar of ${what}`);
    assert.equal((await loose(page, "footer")).join("\n"), "", `the bar of ${isLoose}`);
  }
  if (rows) {
    compareRows(numbers, shown, what);
  }
  if (!picture) {
    return undefined;
  }
  const drawn = await pictureOf(page);
  const { functions } = report(file, "functions", filter, ["--limit", "20000", ...weighed(values)]);
  compareWithFunctions(isSplit ? withoutParts(drawn) : drawn, functions, what);
  if (isSplit) {
    return undefined;
  }
  if (values.of !== undefined) {
    // The tree shows memory only where there is nothing else.
    return recording.has.samples ? undefined : drawn;
  }
  compareWithTree(drawn, report(file, "tree", filter), what);
  return drawn;
}
