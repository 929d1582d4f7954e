// What a reader does on the page: search, filter, take back, zoom, choose from a menu, sort, with
// the pointer and with the keyboard alone.

import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { basename } from "node:path";
import { test } from "node:test";

import { profundo, report } from "./harness/command.mjs";
import { compare, numbersIn } from "./harness/numbers.mjs";
import { needsBrowser, offline, open, openRecording, serve, start, withPage } from "./harness/page.mjs";
import { copyOf, FOLDER, recording } from "./harness/recordings.mjs";
import { functions } from "./tables/sampled.mjs";
import { viewsOf } from "./views.mjs";

/** The hash of the address. */
const hash = (page) => page.page.evaluate(() => decodeURIComponent(location.hash.replaceAll("+", " ")));
const chips = (page) => page.page.locator(".chip").allInnerTexts();

/** The box with a name: its middle on the screen, and its number. */
async function box(page, name) {
  return page.page.evaluate((name) => {
    const canvas = document.querySelector("main canvas");
    const { drawing } = canvas;
    const { picture } = drawing;
    const row = picture.flame.functions.name.indexOf(name);
    const at = picture.boxes.function.indexOf(row);
    const area = canvas.getBoundingClientRect();
    const perPixel = (drawing.to - drawing.from) / canvas.clientWidth;
    const left = (picture.start[at] - drawing.from) / perPixel;
    const width = picture.boxes.weight[at] / perPixel;
    const y = (picture.boxes.level[at] - drawing.top + 0.5) * 20;
    return { at, x: area.left + left + Math.min(width / 2, 20), y: area.top + y };
  }, name);
}

/** Presses the pointer's other button on a box. */
async function openMenu(page, name) {
  const { x, y } = await box(page, name);
  await page.page.mouse.click(x, y, { button: "right" });
  await page.page.getByRole("menu").waitFor();
}

/** What the picture shows: from where to where, of which width. */
const windowOf = (page) =>
  page.page.evaluate(() => {
    const { from, to, picture, selected } = document.querySelector("main canvas").drawing;
    return { from, to, width: picture.width, selected, name: selected < 0 ? "" : picture.flame.functions.name[picture.boxes.function[selected]] };
  });

test("a filter that is typed becomes a chip, holds in each view, and the browser's back takes it away", needsBrowser, () =>
  withPage(recording("cpu"), { hash: "#functions" }, async (page) => {
    const all = await page.page.locator("tbody tr[data-row]").count();
    await page.page.getByLabel("What to filter by").selectOption("focus");
    await page.page.getByLabel("The value").fill("^walk$");
    await page.page.keyboard.press("Enter");
    await page.settled();
    assert.match((await chips(page)).join(), /^focus\s\^walk\$/);
    assert.equal((await chips(page)).length, 1);
    assert.equal(await hash(page), "#functions?filter=focus=^walk$");
    const some = await page.page.locator("tbody tr[data-row]").count();
    assert.ok(some > 0 && some < all, `${some} of ${all}`);
    await page.page.getByRole("link", { name: "Overview" }).click();
    await page.settled();
    assert.equal(await hash(page), "#overview?filter=focus=^walk$");
    const file = recording("cpu");
    const { selection } = report(file, "summary", "focus=^walk$");
    const numbers = (await numbersIn(page)).filter(({ table, row }) => table === "whole" && row === "selection");
    compare(numbers, { whole: [["selection", selection]] }, "after the filter");
    await page.page.goBack();
    await page.settled();
    assert.equal(await hash(page), "#functions?filter=focus=^walk$");
    await page.page.goBack();
    await page.settled();
    assert.equal(await hash(page), "#functions");
    assert.equal((await chips(page)).length, 0);
    assert.equal(await page.page.locator("tbody tr[data-row]").count(), all);
    await page.page.goForward();
    await page.settled();
    assert.equal((await chips(page)).length, 1);
    await page.page.getByRole("button", { name: "Remove the filter focus" }).click();
    await page.settled();
    assert.equal((await chips(page)).length, 0);
  }));

test("a filter by thread is the same by its button and by the command's option", needsBrowser, () =>
  withPage(recording("cpu"), {}, async (page) => {
    const threads = page.page.getByRole("region", { name: "Threads" });
    await threads.getByRole("button", { name: /helper/ }).click();
    await page.settled();
    const filter = (await hash(page)).replace("#overview?filter=", "");
    assert.match(filter, /^thread=\d+$/);
    const { selection } = report(recording("cpu"), "summary", filter);
    const shown = (await numbersIn(page)).find(({ row, is }) => row === "selection" && is === "samples");
    assert.equal(shown.number, selection.samples);
  }));

test("a filter that is wrong is refused in a sentence, and the page goes on", needsBrowser, () =>
  withPage(recording("cpu"), { hash: "#functions" }, async (page) => {
    page.expected.push(/400 \(Bad Request\)/);
    await page.page.getByLabel("What to filter by").selectOption("focus");
    await page.page.getByLabel("The value").fill("(");
    await page.page.keyboard.press("Enter");
    await page.page.getByRole("alert").waitFor();
    assert.match(await page.page.getByRole("alert").innerText(), /\(/);
    await page.page.goBack();
    await page.settled();
    assert.ok((await page.page.locator("tbody tr[data-row]").count()) > 0);
  }));

test("a search says the share of the stacks that it finds, as `--focus` does", needsBrowser, () =>
  withPage(recording("cpu"), { hash: "#flame" }, async (page) => {
    await page.page.keyboard.press("/");
    await page.page.keyboard.type("walk");
    await page.page.getByText("have it on their stack").waitFor();
    await page.settled();
    const [found] = (await numbersIn(page)).filter(({ is }) => is === "share");
    const file = recording("cpu");
    const all = report(file, "summary").selection.seconds;
    const some = report(file, "summary", "focus=(?i)walk").selection.seconds;
    assert.ok(Math.abs(found.number - some / all) < 1e-6, `${found.number} and ${some / all}`);
    assert.equal(await hash(page), "#flame?search=walk");
    const marked = await page.page.evaluate(() => [...document.querySelector("main canvas").drawing.found].filter((is) => is === 1).length);
    assert.ok(marked > 0);
  }));

test("a search in a table leaves the rows that have the text", needsBrowser, () =>
  withPage(recording("cpu"), { hash: "#functions" }, async (page) => {
    await page.page.getByLabel("Search").fill("SQUARES");
    const names = await page.page.locator("tbody tr[data-row]").evaluateAll((rows) => rows.map((row) => row.dataset.row));
    assert.ok(names.length > 0 && names.every((name) => name.toLowerCase().includes("squares")), names.join());
  }));

test("columns sort both ways, and say so", needsBrowser, () =>
  withPage(recording("cpu"), { hash: "#functions" }, async (page) => {
    const column = (is) =>
      page.page.locator(`tbody [data-is="${is}"]`).evaluateAll((cells) => cells.map((cell) => Number(cell.dataset.number)));
    const isSorted = (list, way) => list.every((value, at) => at === 0 || way * (list[at - 1] - value) >= 0);
    assert.ok(isSorted(await column("self_share"), 1));
    await page.page.getByRole("button", { name: "Total" }).click();
    assert.ok(isSorted(await column("total_share"), 1));
    await page.page.getByRole("button", { name: "Total" }).click();
    assert.ok(isSorted(await column("total_share"), -1));
    assert.equal(await page.page.locator('th[aria-sort="ascending"]').innerText(), "Total ▴");
  }));

test("a click on a box zooms into it, Escape and back zoom out, and the address opens the same", needsBrowser, () =>
  withPage(recording("cpu"), { hash: "#flame" }, async (page) => {
    const whole = await windowOf(page);
    const { x, y } = await box(page, "parse");
    await page.page.mouse.move(x, y);
    await page.page.locator("footer [data-number]").first().waitFor();
    assert.match(await page.page.locator("footer").innerText(), /^parse .*busy\.py/);
    await page.page.mouse.click(x, y);
    await page.settled();
    assert.match(await hash(page), /^#flame\?path=\d+$/);
    const zoomed = await windowOf(page);
    assert.ok(zoomed.to - zoomed.from < whole.to - whole.from);
    const again = await openRecording(recording("cpu"), { hash: new URL(page.page.url()).hash });
    assert.deepEqual({ ...(await windowOf(again)), selected: -1, name: "" }, { ...zoomed, selected: -1, name: "" });
    await again.close();
    await page.page.getByRole("application").focus();
    await page.page.keyboard.press("Escape");
    await page.settled();
    assert.equal(await hash(page), "#flame");
    await page.page.goBack();
    await page.settled();
    assert.match(await hash(page), /path=/);
    await page.page.getByRole("button", { name: "Zoom out" }).click();
    await page.settled();
    assert.equal(await hash(page), "#flame");
  }));

test("a press in the moment in which a picture appears finds its box", needsBrowser, () =>
  withPage(recording("cpu"), { hash: "#functions" }, async (page) => {
    // Whenever the page changes, the picture must be the one that the page tells of, and as wide.
    await page.page.evaluate(() => {
      window.seen = [];
      new MutationObserver(() => {
        const canvas = document.querySelector("main .picture canvas");
        if (canvas === null) {
          return;
        }
        const told = /of ([\d\u202f]+) boxes/.exec(canvas.getAttribute("aria-label"))[1].replaceAll("\u202f", "");
        const { drawing } = canvas;
        const isDrawn = drawing?.picture?.boxes.level.length === Number(told) && drawing.at(canvas.clientWidth - 1, 5) === 0;
        if (window.seen.length === 0 && canvas.parentElement.querySelector(".menu") === null) {
          const { left, top } = canvas.getBoundingClientRect();
          canvas.dispatchEvent(new MouseEvent("contextmenu", { clientX: left + 9, clientY: top + 30, bubbles: true, cancelable: true }));
        }
        window.seen.push(isDrawn);
      }).observe(document.getElementById("page"), { childList: true, subtree: true, attributes: true });
      location.hash = "#flame";
    });
    await page.page.getByRole("menu").waitFor();
    await page.go("#flame?filter=focus%3D%5Ewalk%24");
    await page.go("#flame");
    const seen = await page.page.evaluate(() => window.seen);
    assert.ok(seen.length > 4);
    assert.ok(seen.every(Boolean), `${seen.filter((is) => !is).length} of ${seen.length} times it was another picture`);
  }));

test("the pointer's bar has the numbers of the report", needsBrowser, () =>
  withPage(recording("cpu"), { hash: "#functions" }, async (page) => {
    await page.page.locator("tbody tr[data-row]").nth(1).hover();
    await page.page.locator("footer [data-number]").first().waitFor();
    const numbers = await numbersIn(page, "footer");
    assert.ok(numbers.length >= 5);
    const { functions } = report(recording("cpu"), "functions", "", ["--limit", "20000"]);
    compare(numbers, { functions: functions.map((row) => [`${row.function ?? ""} ${row.file ?? ""}:${row.line ?? ""}`, row]) }, "the bar");
    // What it says of one view or filter is not true of another.
    await page.page.mouse.move(600, 5);
    assert.ok((await numbersIn(page, "footer")).length >= 5);
    for (const other of ["#tree", "#tree?filter=focus%3Dwalk"]) {
      await page.go(other);
      assert.deepEqual(await numbersIn(page, "footer"), [], other);
    }
  }));

test("the menu of a box changes the stacks as the command's option does", needsBrowser, () =>
  withPage(recording("cpu"), { hash: "#flame" }, async (page) => {
    await openMenu(page, "walk");
    await page.page.getByRole("menuitem", { name: /Leave this function out/ }).click();
    await page.settled();
    assert.equal(await hash(page), "#flame?filter=transform=merge-function:^walk$");
    const names = await page.page.evaluate(() => document.querySelector("main canvas").drawing.picture.flame.functions.name);
    assert.ok(!names.includes("walk") && names.includes("parse"));
    await page.page.goBack();
    await page.settled();
    await openMenu(page, "walk");
    await page.page.keyboard.press("Escape");
    await page.page.getByRole("menu").waitFor({ state: "detached" });
  }));

test("a function stands between its callers and its callees", needsBrowser, () =>
  withPage(recording("cpu"), { hash: "#functions" }, async (page) => {
    await page.page.locator('tbody tr[data-row^="parse "]').click();
    await page.settled();
    assert.match(await hash(page), /^#flame\?file=.*busy\.py&function=parse$/);
    const [above, below] = await page.page.locator("main canvas").evaluateAll((list) =>
      list.map(({ drawing }) => ({ weight: drawing.picture.boxes.weight[0], own: drawing.picture.boxes.function[0], names: drawing.picture.flame.functions.name })),
    );
    const { functions } = report(recording("cpu"), "functions", "", ["--limit", "20000"]);
    const { total_seconds } = functions.find((row) => row.function === "parse");
    assert.ok(Math.abs(above.weight / 1e9 - total_seconds) < 1e-8 && above.weight === below.weight, `${above.weight} ${below.weight} ${total_seconds}`);
    assert.ok(above.names.includes("main") && above.names.includes("walk"), above.names.join());
    assert.ok(below.names.includes("squares") && !below.names.includes("walk"), below.names.join());
  }));

test("what is chosen from “Save as” is what the command exports", needsBrowser, () =>
  withPage(recording("cpu"), { hash: "#functions?filter=focus%3Dwalk" }, async (page) => {
    await page.page.getByRole("button", { name: "Save as" }).click();
    const [download] = await Promise.all([page.page.waitForEvent("download"), page.page.getByRole("menuitem", { name: "folded stacks" }).click()]);
    const stacks = readFileSync(await download.path(), "utf8");
    const expected = profundo(["export", recording("cpu"), "--to", "collapsed", "--focus", "walk", "-o", "-"]);
    assert.deepEqual(stacks.split("\n").sort(), expected.split("\n").sort());
    assert.ok(stacks.includes("walk"));
  }));

test("a theme that is chosen stays, whatever the system has", needsBrowser, () =>
  withPage(recording("cpu"), { theme: "light" }, async (page) => {
    const ground = () => page.page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    const becomes = (colour) =>
      page.page.waitForFunction((colour) => getComputedStyle(document.body).backgroundColor === colour, colour);
    const [light, dark] = ["rgb(255, 255, 255)", "rgb(22, 25, 29)"];
    assert.equal(await ground(), light);
    await page.page.getByLabel("Theme").selectOption("dark");
    await becomes(dark);
    await page.page.reload();
    await page.settled();
    await becomes(dark);
    await page.page.getByLabel("Theme").selectOption("system");
    await becomes(light);
  }));

test("the keyboard alone reaches views, boxes, rows and menus", needsBrowser, () =>
  withPage(recording("cpu"), {}, async (page) => {
    const { keyboard } = page.page;
    await keyboard.press("2");
    await page.settled();
    assert.equal(await hash(page), "#flame");
    // From the first control on, Tab comes to the picture.
    for (let steps = 0; steps < 60; steps++) {
      await keyboard.press("Tab");
      if (await page.page.evaluate(() => document.activeElement.tagName === "CANVAS")) {
        break;
      }
    }
    assert.equal(await page.page.evaluate(() => document.activeElement.tagName), "CANVAS");
    await keyboard.press("ArrowDown");
    await keyboard.press("ArrowDown");
    const chosen = await windowOf(page);
    assert.notEqual(chosen.name, "");
    assert.ok((await page.page.locator("footer").innerText()).startsWith(chosen.name));
    await keyboard.press("Enter");
    await page.settled();
    assert.match(await hash(page), /path=/);
    await keyboard.press("Backspace");
    await page.settled();
    assert.equal(await hash(page), "#flame");
    await keyboard.press("m");
    await page.page.getByRole("menu").waitFor();
    await keyboard.press("ArrowDown");
    await keyboard.press("Enter");
    await page.settled();
    assert.match(await hash(page), /filter=focus=/);
    await page.page.goBack();
    await page.settled();
    await keyboard.press("?");
    await page.page.locator(".keys").waitFor();
    await keyboard.press("Escape");
    const functions = await page.page.locator("nav.views a").allInnerTexts();
    await keyboard.press(String(functions.indexOf("Functions") + 1));
    await page.settled();
    await page.page.getByRole("region", { name: "Functions" }).focus();
    await keyboard.press("End");
    await keyboard.press("Home");
    await keyboard.press("ArrowDown");
    const row = await page.page.locator("tbody tr.at").getAttribute("data-row");
    await keyboard.press("Enter");
    await page.settled();
    assert.match(await hash(page), /^#flame\?.*function=/);
    assert.ok(row.startsWith((await hash(page)).match(/function=([^&]*)/)[1]));
  }));

test("each address opens the view that it was taken from", needsBrowser, async () => {
  const file = recording("cpu");
  const { url } = await serve(file);
  const { recordings, snapshots } = await (await fetch(`${url}api/about`)).json();
  for (const { name, place = "" } of viewsOf("cpu", { recordings, snapshots }).filter(({ isTab }) => !isTab)) {
    const hash = `#${name}?${new URLSearchParams([...new URLSearchParams(place), ["filter", "focus=walk"]])}`;
    const [one, other] = [await open(url), await open(url, { hash })];
    await one.go(hash);
    // The bar tells of the pointer, and the theme is the browser's.
    const text = (page) => page.page.locator("main").innerText();
    // A slow machine draws one of them later.
    const deadline = Date.now() + 10_000;
    while ((await text(one)) !== (await text(other)) && Date.now() < deadline) {
      await one.page.waitForTimeout(100);
    }
    assert.equal(await text(one), await text(other), hash);
    await one.close();
    await other.close();
  }
});

test("two pages of one server do not disturb each other", needsBrowser, async () => {
  const file = recording("cpu");
  const [one, other] = [await openRecording(file, { hash: "#functions" }), await openRecording(file, { hash: "#functions?filter=thread%3Dhelper" })];
  const rows = (page) => page.page.locator("tbody tr[data-row]").count();
  const before = [await rows(one), await rows(other)];
  assert.ok(before[0] > before[1]);
  await one.go("#overview");
  await one.go("#functions");
  assert.deepEqual([await rows(one), await rows(other)], before);
  await one.close();
  await other.close();
});

test("a recording that is replaced is shown anew, without a step of the reader's", needsBrowser, async () => {
  const file = copyOf("cpu", "replaced.profundo");
  const server = await start([file]);
  const page = await open(server.url, { hash: "#functions" });
  const names = () => page.page.locator("tbody tr[data-row]").evaluateAll((rows) => rows.map((row) => row.dataset.row).join("\n"));
  try {
    assert.match(await names(), /squares/);
    writeFileSync(file, readFileSync(recording("native")));
    await page.page.locator('tbody tr[data-row^="mix "]').waitFor();
    await page.settled();
    assert.ok(!(await names()).includes("squares"));
    await page.close();
  } finally {
    server.stop();
  }
});

test("a server that has ended is told of in a sentence", needsBrowser, async () => {
  const server = await start([recording("cpu")]);
  const page = await open(server.url, { hash: "#functions" });
  page.expected.push(/ERR_CONNECTION_REFUSED|ERR_INCOMPLETE_CHUNKED_ENCODING|ERR_EMPTY_RESPONSE/);
  server.stop();
  await new Promise((resolve) => server.child.once("exit", resolve));
  await page.page.getByRole("link", { name: "Source" }).click();
  const said = page.page.getByRole("alert").first();
  await said.waitFor();
  assert.match(await said.innerText(), /server has ended.*profundo view/s);
  await page.close();
});

test("a file for people without a server shows what it carries, and asks for nothing", needsBrowser, async () => {
  const page = await open(offline(recording("cpu"), `${FOLDER}/offline.html`));
  const places = await page.page.locator("nav.views a").evaluateAll((links) => links.map((link) => link.getAttribute("href")));
  assert.ok(places.length >= 4, places.join());
  for (const place of places) {
    await page.go(place);
    const said = await page.page.locator("main").innerText();
    assert.ok(said.length > 20, `${place}: ${said}`);
  }
  await page.go("#functions");
  compare(await numbersIn(page), functions({ file: recording("cpu"), filter: "", values: {} }), "the file");
  await page.close();
});

test("what a file does not carry is said in a sentence, with the command that opens the whole", needsBrowser, async () => {
  const file = recording("statements");
  const page = await open(offline(file, `${FOLDER}/part.html`));
  const command = `profundo view ${basename(file)}`;
  const filters = await page.page.locator(".filters").innerText();
  assert.ok(/the call graph.*in time.*instructions/.test(filters) && filters.endsWith(command), filters);
  const [{ file: source, lines: [{ line }] }] = report(file, "lines").files;
  const absent = ["graph", "assembly", "flame?shape=time", "flame?by=thread", "square?libraries=folded", "source?libraries=shown", "heatmap?squares=50000000-100000000", "heatmap?squares=50000000-100000000,100000000-150000000", `source?${new URLSearchParams({ file: source, line })}`];
  for (const place of absent) {
    await page.go(`#${place}`);
    const said = await page.page.locator("main code", { hasText: command }).allInnerTexts();
    assert.deepEqual(said, [command], place);
    assert.doesNotMatch(await page.page.locator("main").innerText(), /`/, place);
  }
  // What is offered is there, or says so: nothing is an error.
  await page.go("#flame");
  assert.deepEqual(await page.page.getByLabel("Shape").locator("option").allInnerTexts(), ["icicle", "flame", "left-heavy", "inverted"]);
  await page.go("#source");
  assert.equal(await page.page.getByLabel("libraries too").count(), 0);
  await page.close();
});
