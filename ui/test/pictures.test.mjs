// Pictures that act: the call graph, the squares, the heatmap and the flame graph are pointed at,
// opened, compared and saved, with the pointer and with the keyboard.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { report } from "./harness/command.mjs";
import { compare, numbersIn } from "./harness/numbers.mjs";
import { needsBrowser, withPage } from "./harness/page.mjs";
import { recording } from "./harness/recordings.mjs";

const hash = (page) => page.page.evaluate(() => decodeURIComponent(location.hash.replaceAll("+", " ")));
const bar = (page) => page.page.locator("footer").innerText();

/** The functions of the command, by the key that the graph has. */
function functionsOf(file) {
  return report(file, "functions", "", ["--limit", "20000"]).functions.map((row) => [`${row.function ?? "[unknown]"} ${row.file ?? ""}`, row]);
}

/** An answer of the page's server. */
const ask = (page, text) => page.page.evaluate((text) => fetch(`api/${text}`).then((answer) => answer.json()), text);

test("the call graph tells of boxes and arrows, and its numbers are the report's", needsBrowser, () =>
  withPage(recording("cpu"), { hash: "#graph" }, async (page) => {
    const answer = await ask(page, "graph?nodes=60");
    const known = {
      functions: [...functionsOf(recording("cpu")), ...answer.nodes.map((node) => [`${node.name} ${node.file}`, node])],
      graph: [["all", answer]],
    };
    const box = page.page.locator(".graph .node").filter({ hasText: "parse" }).first();
    await box.hover();
    assert.match(await bar(page), /^parse · total .*% – .*self .*busy\.py/);
    compare(await numbersIn(page, "footer"), known, "the bar");
    await page.page.getByText("The graph as a table").click();
    await page.page.locator('table[data-table="functions"] tbody tr').first().waitFor();
    const rows = await numbersIn(page);
    assert.ok(rows.length > 10);
    compare(rows, known, "the table");
    const arrow = page.page.locator(".graph .arrow").first();
    await arrow.dispatchEvent("pointerenter");
    assert.match(await bar(page), / calls .*%/);
  }));

test("the call graph is chosen from, centred and taken back with the keyboard alone", needsBrowser, () =>
  withPage(recording("cpu"), { hash: "#graph" }, async (page) => {
    const { keyboard } = page.page;
    await page.page.getByRole("application").focus();
    await keyboard.press("ArrowDown");
    const first = await bar(page);
    await keyboard.press("ArrowDown");
    assert.notEqual(await bar(page), first);
    assert.equal(await page.page.locator(".graph .node.chosen").count(), 1);
    const name = /^(\S+)/.exec(await bar(page))[1];
    await keyboard.press("c");
    await page.settled();
    assert.ok((await hash(page)).includes(`function=${name}`), await hash(page));
    assert.equal(await page.page.locator(".graph .node.centre").count(), 1);
    await page.page.goBack();
    await page.settled();
    assert.equal(await hash(page), "#graph");
    await page.page.getByRole("application").focus();
    await keyboard.press("Enter");
    await keyboard.press("m");
    await page.page.getByRole("menuitem", { name: "Only stacks with this function" }).click();
    await page.settled();
    assert.match(await hash(page), /filter=focus=/);
  }));

test("the call graph is pruned where it is answered, and says what is not shown", needsBrowser, () =>
  withPage(recording("cpu"), { hash: "#graph" }, async (page) => {
    const all = await ask(page, "graph?nodes=500&arrows=0");
    await page.page.getByLabel("at most").selectOption("20");
    await page.settled();
    assert.match(await hash(page), /nodes=20/);
    const shown = await page.page.locator(".graph .node").count();
    const left = all.nodes.length + all.nodes_left_out - shown;
    assert.ok(left > 0 && shown <= 20, `${shown} of ${all.nodes.length}`);
    assert.match(await page.page.getByRole("status").innerText(), new RegExp(`^${left} box`));
    const width = () => page.page.locator(".graph svg").evaluate((svg) => svg.viewBox.baseVal.width);
    const before = await width();
    await page.page.getByRole("button", { name: "Larger" }).click();
    assert.ok((await width()) < before);
  }));

test("a zoom of the call graph stands in the address, opens the same picture, and back takes it away", needsBrowser, () =>
  withPage(recording("cpu"), { hash: "#graph" }, async (page) => {
    const view = () => page.page.locator(".graph svg").evaluate(({ viewBox: { baseVal: box } }) => ({ x: box.x + box.width / 2, y: box.y + box.height / 2, width: box.width }));
    const isNear = (a, b) => assert.ok(["x", "y", "width"].every((name) => Math.abs(a[name] - b[name]) < 0.001 * b.width), `${JSON.stringify(a)} and ${JSON.stringify(b)}`);
    const steps = () => page.page.evaluate(() => history.length);
    const [begun, before] = [await view(), await steps()];
    await page.page.getByRole("application").focus();
    for (let times = 0; times < 4; times++) {
      await page.page.keyboard.press("+");
    }
    await page.page.waitForFunction(() => location.hash.includes("zoom="));
    assert.equal(await steps(), before + 1);
    const zoomed = await view();
    assert.ok(zoomed.width < 0.5 * begun.width);
    const { x, y, width, height } = await page.page.locator(".graph svg").boundingBox();
    const first = await hash(page);
    await page.page.mouse.move(x + width / 2, y + height - 3);
    await page.page.mouse.down();
    await page.page.mouse.move(x + width / 2 + 60, y + height - 43, { steps: 4 });
    await page.page.mouse.up();
    await page.page.waitForFunction((first) => location.hash !== first, first);
    const moved = await view();
    assert.ok(moved.x < zoomed.x && moved.y > zoomed.y && moved.width === zoomed.width, JSON.stringify(moved));
    // Another reader sees the same, in a window of another size too.
    const shared = await hash(page);
    await page.go("#overview");
    await page.page.setViewportSize({ width: 900, height: 700 });
    await page.go(shared);
    isNear(await view(), moved);
    await page.page.setViewportSize({ width: 1280, height: 800 });
    await page.page.goBack();
    await page.page.goBack();
    await page.settled();
    isNear(await view(), moved);
    await page.page.goBack();
    await page.settled();
    isNear(await view(), zoomed);
    await page.page.goBack();
    await page.settled();
    assert.equal(await hash(page), "#graph");
    isNear(await view(), begun);
    // A step forward, and all of it: a large graph begins with a part.
    await page.page.goForward();
    await page.settled();
    await page.page.getByRole("button", { name: "Fit" }).click();
    await page.settled();
    assert.equal(await page.page.getByRole("button", { name: "Fit" }).isDisabled(), true);
    assert.ok((await view()).width >= begun.width);
    // Another graph begins by itself.
    await page.page.goBack();
    await page.settled();
    await page.page.getByLabel("at most").selectOption("20");
    await page.settled();
    assert.equal(await hash(page), "#graph?nodes=20");
  }));

test("a square opens, its crumbs lead back, and it has the flame graph's numbers", needsBrowser, () =>
  withPage(recording("cpu"), { hash: "#square" }, async (page) => {
    const areaOf = (name) =>
      page.page.evaluate((name) => {
        const canvas = document.querySelector("main canvas");
        const { picture } = canvas.drawing;
        const at = picture.boxes.function.indexOf(picture.flame.functions.name.indexOf(name));
        const area = canvas.drawing.areaOf(at);
        const { left, top } = canvas.getBoundingClientRect();
        return { x: left + area.x + 12, y: top + area.y + 6, weight: picture.boxes.weight[at], part: (area.width * area.height) / (canvas.clientWidth * canvas.clientHeight), share: picture.boxes.weight[at] / picture.width };
      }, name);
    const parse = await areaOf("parse");
    assert.ok(parse.part <= parse.share * 1.001 && parse.part > parse.share * 0.4, `${parse.part} of the area for ${parse.share}`);
    await page.page.mouse.move(parse.x, parse.y);
    assert.match(await bar(page), /^parse · total /);
    await page.page.mouse.click(parse.x, parse.y);
    await page.settled();
    assert.match(await hash(page), /^#square\?path=\d+$/);
    const opened = await areaOf("parse");
    assert.equal(opened.weight, parse.weight);
    assert.ok(opened.part > 0.99);
    await page.page.getByRole("navigation", { name: "Callers of what is shown" }).getByRole("button", { name: "all" }).click();
    await page.settled();
    assert.equal(await hash(page), "#square");
    await page.page.getByRole("application").focus();
    await page.page.keyboard.press("ArrowDown");
    await page.page.keyboard.press("ArrowDown");
    await page.page.keyboard.press("Enter");
    await page.settled();
    assert.match(await hash(page), /path=/);
    const callers = () => page.page.evaluate(() => document.querySelector("main canvas").drawing.picture.flame.callers.level.length);
    const deep = await callers();
    await page.page.keyboard.press("Backspace");
    await page.settled();
    assert.equal(await callers(), deep - 1);
  }));

test("two squares of the heatmap are compared, and named in words", needsBrowser, () =>
  withPage(recording("cpu"), { hash: "#heatmap?column=50000000" }, async (page) => {
    const { keyboard } = page.page;
    // On a busy machine the first column is a later one.
    const { start, column } = await ask(page, "heatmap?column=50000000");
    const ends = (number) => [start + number * column, start + (number + 1) * column];
    const [[a, b], [, c]] = [ends(1), ends(2)];
    const [first, second] = [`${a / 1e9} to ${b / 1e9} s`, `${b / 1e9} to ${c / 1e9} s`];
    const isAt = async (squares) => assert.ok((await hash(page)).endsWith(`squares=${squares}`), `${await hash(page)} for ${squares}`);
    await page.page.getByRole("application").first().focus();
    await keyboard.press("ArrowRight");
    await keyboard.press("c");
    await page.settled();
    await isAt(`${a}-${b}`);
    assert.equal(await page.page.getByRole("region", { name: `Flame graph: calls of ${first}` }).count(), 1);
    await page.page.getByRole("application").first().focus();
    await keyboard.press("ArrowRight");
    await keyboard.press("Shift+C");
    await page.settled();
    await isAt(`${a}-${b},${b}-${c}`);
    const card = page.page.getByRole("region", { name: `Flame graph of the difference: ${first} against ${second}` });
    await card.waitFor();
    const answer = await ask(page, `diff?filter=from%3D${a / 1e9}%20to%3D${b / 1e9}&after=from%3D${b / 1e9}%20to%3D${c / 1e9}&all=1&limit=500`);
    assert.equal(answer.common_factor, 1);
    assert.ok((await card.innerText()).includes(answer.verdict.split("`")[0].slice(0, 20)));
    const { width } = await page.page.locator(".squares canvas").first().evaluate((canvas) => canvas.drawing.picture);
    assert.ok(width > 0);
    await page.page.getByRole("button", { name: "Swap A and B" }).click();
    await page.settled();
    await isAt(`${b}-${c},${a}-${b}`);
    await page.page.goBack();
    await page.page.goBack();
    await page.settled();
    await isAt(`${a}-${b}`);
  }));

/** The window of the first picture. */
const windowOf = (page) =>
  page.page.evaluate(() => {
    const { from, to, picture } = document.querySelector("main canvas").drawing;
    return { from: from / picture.width, to: to / picture.width };
  });

test("a zoom by keys shows the overview, and back takes it away; so does back with a search", needsBrowser, () =>
  withPage(recording("cpu"), { hash: "#flame" }, async (page) => {
    await page.page.getByRole("application").focus();
    for (let times = 0; times < 4; times++) {
      await page.page.keyboard.press("+");
    }
    await page.page.waitForFunction(() => location.hash.includes("zoom="));
    const zoomed = await windowOf(page);
    assert.ok(zoomed.to - zoomed.from < 0.3);
    const map = page.page.locator(".minimap");
    await map.waitFor();
    const { x, y, width } = await map.boundingBox();
    await page.page.mouse.click(x + width * 0.2, y + 3);
    await page.page.waitForFunction((before) => !location.hash.includes(before), `zoom=${Number(zoomed.from.toFixed(5))}`);
    const moved = await windowOf(page);
    assert.ok(Math.abs((moved.from + moved.to) / 2 - 0.2) < 0.03, `${moved.from} to ${moved.to}`);
    await page.page.goBack();
    await page.page.goBack();
    await page.settled();
    assert.deepEqual(await windowOf(page), { from: 0, to: 1 });
    await page.page.getByLabel("Search").pressSequentially("walk");
    await page.settled();
    assert.equal(await hash(page), "#flame?search=walk");
    await page.page.goBack();
    await page.settled();
    assert.equal(await hash(page), "#flame");
    assert.equal(await page.page.getByLabel("Search").inputValue(), "");
  }));

test("in the order of time, dragging over the seconds chooses a span, as in the timeline", needsBrowser, () =>
  withPage(recording("cpu"), { hash: "#flame?shape=time" }, async (page) => {
    const shown = () => page.page.evaluate(() => document.querySelector("main .picture canvas").drawing).then(({ from, to }) => to - from);
    const whole = await shown();
    const plot = page.page.locator(".time-axis .plot");
    const { x, y, width, height } = await plot.boundingBox();
    await page.page.mouse.move(x + width * 0.25, y + height / 2);
    await page.page.mouse.down();
    await page.page.mouse.move(x + width * 0.5, y + height / 2, { steps: 5 });
    await page.page.mouse.up();
    await page.settled();
    const [, from, to] = /filter=from=([\d.]+) to=([\d.]+)/.exec(await hash(page));
    assert.ok(Math.abs((Number(to) - Number(from)) * 1e9 - whole / 4) < 0.01 * whole, `${from} to ${to} of ${whole}`);
    assert.deepEqual(await page.page.locator(".filters .chip b").allInnerTexts(), ["from", "to"]);
    // The picture follows when the window has come to rest.
    const isCut = () => shown().then((time) => time < whole / 2);
    for (let tries = 0; tries < 50 && !(await isCut()); tries++) {
      await page.page.waitForTimeout(100);
    }
    const inTime = await shown();
    assert.ok(Math.abs(inTime - whole / 4) < 0.01 * whole, `the picture has ${inTime} of ${whole}`);
    await page.page.goBack();
    await page.settled();
    assert.equal(await hash(page), "#flame?shape=time");
    // With the keyboard alone.
    await plot.focus();
    for (const key of ["Home", "ArrowRight", "Shift+ArrowRight", "Shift+ArrowRight", "Enter"]) {
      await page.page.keyboard.press(key);
    }
    await page.settled();
    assert.match(await hash(page), /filter=from=[\d.]+ to=[\d.]+/);
  }));

test("what is too narrow opens in every shape, and back takes it back", needsBrowser, () =>
  withPage(recording("cpu"), { hash: "#functions" }, async (page) => {
    // As if the window had six pixels: then most boxes are too narrow.
    await page.page.route(/api\/flame\b/, (route) => {
      const url = new URL(route.request().url());
      url.searchParams.set("pixels", "6");
      return route.continue({ url: url.href });
    });
    const narrow = () =>
      page.page.evaluate(() => {
        const canvas = document.querySelector("main canvas");
        const { drawing } = canvas;
        const { boxes, start, extent, rows } = drawing.picture;
        const at = boxes.function.indexOf(-3);
        const { left, top } = canvas.getBoundingClientRect();
        const scale = canvas.clientWidth / (drawing.to - drawing.from);
        const row = drawing.isIcicle ? boxes.level[at] * 20 + 10 : canvas.clientHeight - boxes.level[at] * 20 - 10;
        return { at, number: boxes.line[at], first: rows[1]?.length, x: left + (start[at] + extent[at] / 2 - drawing.from) * scale, y: top + row };
      });
    for (const shape of ["", "shape=flame", "shape=left", "shape=inverted", "by=thread"]) {
      await page.go(`#flame?${shape}`);
      const before = await narrow();
      assert.ok(before.at > 0, `${shape}: nothing is narrow`);
      await page.page.mouse.click(before.x, before.y);
      await page.settled();
      assert.match(await hash(page), /path=\d+\.\d+/, shape);
      const after = await narrow();
      assert.deepEqual([after.at, after.number, after.first], [0, before.number, before.number], shape);
      assert.match(await page.page.getByRole("navigation", { name: "Callers of what is shown" }).innerText(), /that were too narrow$/);
      await page.page.goBack();
      await page.settled();
      assert.equal((await narrow()).at, before.at, shape);
    }
  }));

test("the bar has the range of a box's share, which the report has of a function", needsBrowser, () =>
  withPage(recording("cpu"), { hash: "#flame" }, async (page) => {
    await page.page.getByRole("application").focus();
    await page.page.keyboard.press("ArrowDown");
    await page.page.keyboard.press("ArrowDown");
    const range = page.page.locator('footer [data-is="total_share_low"]');
    await range.waitFor();
    const path = await page.page.evaluate(() => {
      const { picture, selected } = document.querySelector("main canvas").drawing;
      return picture.boxes.path[selected];
    });
    const share = await ask(page, `share?path=${path}`);
    assert.equal(Number(await range.getAttribute("data-number")), share.total_share_low);
    assert.ok(share.total_share_low < share.total_share && share.total_share < share.total_share_high);
  }));

test("a menu changes the stacks of a file and of a library as the command does", needsBrowser, () =>
  withPage(recording("cpu"), { hash: "#flame" }, async (page) => {
    const total = () => page.page.evaluate(() => document.querySelector("main canvas").drawing.picture.flame.total);
    const before = await total();
    await page.page.getByRole("application").focus();
    await page.page.keyboard.press("ArrowDown");
    await page.page.keyboard.press("m");
    const menu = page.page.getByRole("menu");
    await menu.waitFor();
    assert.match(await menu.innerText(), /The file busy\.py/);
    await page.page.getByRole("menuitem", { name: "Leave this file out" }).click();
    await page.settled();
    assert.match(await hash(page), /filter=transform=merge-file:\^.*busy\\\.py\$/);
    const files = await page.page.evaluate(() => document.querySelector("main canvas").drawing.picture.flame.functions.file);
    assert.ok(files.every((file) => !file.endsWith("busy.py")), files.join());
    assert.equal(await total(), before);
    await page.page.goBack();
    await page.settled();
    // A library is one box where its functions call one another.
    const library = await page.page.evaluate(() => {
      const { functions } = document.querySelector("main canvas").drawing.picture.flame;
      return functions.library.find((name) => name !== "");
    });
    assert.ok(library !== undefined, "no function is of a library");
  }));

test("every picture is saved as PNG and as SVG", needsBrowser, async () => {
  for (const place of ["flame", "flame?shape=time", "square", "graph", "heatmap"]) {
    await withPage(recording("cpu"), { hash: `#${place}` }, async (page) => {
      const saved = async (title) => {
        await page.page.getByRole("button", { name: "Save as" }).click();
        const [download] = await Promise.all([page.page.waitForEvent("download"), page.page.getByRole("menuitem", { name: title }).click()]);
        return readFileSync(await download.path());
      };
      const png = await saved("This picture, as PNG");
      assert.equal(png.subarray(1, 4).toString(), "PNG", place);
      const svg = (await saved("This picture, as SVG")).toString();
      const read = await page.page.evaluate((svg) => {
        const read = new DOMParser().parseFromString(svg, "image/svg+xml");
        return { faults: read.querySelectorAll("parsererror").length, texts: [...read.querySelectorAll("text")].map((text) => text.textContent), boxes: read.querySelectorAll("rect").length };
      }, svg);
      assert.equal(read.faults, 0, place);
      assert.ok(read.boxes > 5 && read.texts.length > 0, `${place}: ${read.boxes} boxes, ${read.texts.length} texts`);
      assert.ok(["heatmap", "flame?shape=time"].includes(place) || read.texts.some((text) => text.includes("main")), `${place}: ${read.texts.slice(0, 9)}`);
    });
  }
});
