// What a reader does with the source, the tree and the counts: open a statement, follow a line to its
// callers, open the editor, go through the tree by keyboard, fold libraries, change stacks and take
// it back.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

import { report } from "./harness/command.mjs";
import { compare, numbersIn } from "./harness/numbers.mjs";
import { needsBrowser, open, start, withPage } from "./harness/page.mjs";
import { PROGRAMS, recording } from "./harness/recordings.mjs";
import { VIEWS } from "./views.mjs";

const hash = (page) => page.page.evaluate(() => decodeURIComponent(location.hash.replaceAll("+", " ")));
const tablesOf = (name) => VIEWS.find((view) => view.name === name && view.tables !== undefined).tables;
/** The line of a text in the program of statements. */
const PROGRAM = "statements.py";

test("the first view asks for the parts of the summary, the head before all others", needsBrowser, () =>
  withPage(recording("cpu"), { hash: "#functions" }, async (page) => {
    const asked = [];
    page.page.on("request", (request) => /api\/report\?.*what=summary/.test(request.url()) && asked.push(new URL(request.url()).searchParams.get("parts")));
    await page.go("#overview");
    assert.equal(asked[0], "head");
    assert.deepEqual([...asked].sort(), ["functions,waits", "head", "lines", "totals", "verdict"]);
    assert.match(await page.page.locator(".scale").innerText(), /^Shares are of .* of CPU time: all threads/);
  }));

test("a statement over several lines counts as one, and opens", needsBrowser, () => {
  const file = recording("statements");
  return withPage(file, { hash: "#source" }, async (page) => {
    const statements = report(file, "lines", "", ["--all-lines", "--limit", "500", "--min-share", "0", "--statements"]);
    const source = statements.files.find((one) => one.file.endsWith(PROGRAM));
    const statement = source.lines.filter((line) => line.last_line > line.line).sort((a, b) => b.self_share - a.self_share)[0];
    assert.ok(statement.last_line - statement.line >= 3, JSON.stringify(statement));
    const row = (line) => page.page.locator(`tr[data-row="${source.file}:${line}"]`);
    const shares = (line) => row(line).locator('[data-is="self_share"]').evaluateAll((cells) => cells.map((cell) => Number(cell.dataset.number)));
    assert.deepEqual(await shares(statement.line), [statement.self_share]);
    assert.deepEqual(await shares(statement.line + 1), []);
    await row(statement.line).getByRole("button", { name: /one statement/ }).click();
    await page.page.locator('tr[data-table="parts"]').first().waitFor();
    await page.settled();
    const parts = (await numbersIn(page)).filter(({ table, is }) => table === "parts" && is === "self_seconds");
    assert.ok(parts.length >= 2, `${parts.length} parts`);
    compare(await numbersIn(page), tablesOf("source")({ file, filter: "", values: {} }), "an open statement");
    const sum = parts.reduce((all, { number }) => all + number, 0);
    assert.ok(Math.abs(sum - statement.self_seconds) < 1e-6, `${sum} and ${statement.self_seconds}`);
    await row(statement.line).getByRole("button", { name: /one statement/ }).click();
    assert.deepEqual(await shares(statement.line), [statement.self_share]);
    // The address of a line inside opens its statement.
    await page.go(`#source?${new URLSearchParams({ file: source.file, line: statement.line + 1 })}`);
    await page.page.locator('tr[data-table="parts"].chosen').waitFor();
  });
});

test("lines have the bytes that they wrote, and their waiting", needsBrowser, () => {
  const file = recording("statements");
  // The hottest file may be one of Python's own.
  const program = report(file, "lines", "", ["--all-lines"]).files.find((one) => one.file.endsWith(PROGRAM));
  return withPage(file, { hash: `#source?${new URLSearchParams({ file: program.file })}` }, async (page) => {
    const { lines } = report(file, "io", "", ["--statements"]);
    const known = lines.filter(({ at, written_bytes }) => at?.file?.endsWith(PROGRAM) && written_bytes > 0);
    assert.ok(known.length > 0, "no line is known to write");
    await page.page.locator('[data-is="written_bytes"]').first().waitFor();
    const shown = (await numbersIn(page)).filter(({ table, is }) => table === "io" && is === "written_bytes");
    assert.deepEqual(shown.map(({ number }) => number).sort(), known.map(({ written_bytes }) => written_bytes).sort());
    // A fast disk lets its writers wait too shortly to be seen.
    const waits = program.lines.some((line) => line.self_waiting_share > 0);
    assert.equal((await numbersIn(page)).some(({ is }) => is === "self_waiting_share"), waits);
  });
});

test("memory of a statement over several lines is summed, and each line has its own when it opens", needsBrowser, () => {
  const file = recording("kept");
  const source = join(PROGRAMS, PROGRAM);
  const rowsOf = (options) => report(file, "allocs", "", options).allocations.lines.filter(({ at }) => at?.file === source);
  const text = readFileSync(source, "utf8").split("\n");
  const first = text.findIndex((line) => line.includes("def keep")) + 2;
  const apart = rowsOf([]).filter(({ at }) => first <= at.line && at.line < first + 4);
  assert.ok(apart.length >= 2, JSON.stringify(apart));
  const [sum, ...others] = rowsOf(["--statements"]).filter(({ at }) => first <= at.line && at.line < first + 4);
  assert.deepEqual(others, []);
  assert.equal(sum.at.line, first);
  assert.equal(sum.allocated_bytes, apart.reduce((all, { allocated_bytes }) => all + allocated_bytes, 0));
  assert.ok(sum.allocated_bytes >= 3_000_000, `${sum.allocated_bytes}`);
  return withPage(file, { hash: `#source?${new URLSearchParams({ file: source, line: first })}` }, async (page) => {
    const shown = async (table) => (await numbersIn(page)).filter((one) => one.table === table && one.is === "allocated_bytes");
    await page.page.locator('td[data-table="heap"] [data-number]').first().waitFor();
    assert.equal((await shown("heap")).find(({ row }) => row === `${source}:${first}`).number, sum.allocated_bytes);
    assert.deepEqual(await shown("heap_parts"), []);
    await page.page.locator(`tr[data-row="${source}:${first}"]`).getByRole("button", { name: /one statement/ }).click();
    await page.page.locator('td[data-table="heap_parts"] [data-number]').first().waitFor();
    await page.settled();
    const expected = apart.filter(({ allocated_bytes }) => allocated_bytes > 0).map(({ at, allocated_bytes }) => [`${source}:${at.line}`, allocated_bytes]);
    assert.deepEqual((await shown("heap_parts")).map(({ row, number }) => [row, number]).sort(), expected.sort());
    // The callers and callees of the chosen line are looked at in the test of numbers.
    const numbers = (await numbersIn(page)).filter(({ table }) => table !== "neighbours");
    compare(numbers, tablesOf("source")({ file, filter: "", values: { hasMemory: true } }), "an open statement");
  });
});

test("names of files and lines open the editor that is named, and no other page does", needsBrowser, async () => {
  const file = recording("cpu");
  const { url, stop } = await start(["--editor", "code --wait", file]);
  try {
    const [{ file: source, lines }] = report(file, "lines").files;
    const [{ line }] = lines;
    const page = await open(url, { hash: `#source?line=${line}` });
    const links = await page.page.locator("a.edit").evaluateAll((all) => all.map((one) => one.getAttribute("href")));
    assert.ok(links.includes(`vscode://file${source}:${line}`), links.slice(0, 3).join());
    assert.equal(await page.page.locator("a.in-editor").getAttribute("href"), `vscode://file${source}:${line}`);
    await page.close();
  } finally {
    stop();
  }
  const { url: plain, stop: end } = await start(["--editor", "nano", file]);
  try {
    const page = await open(plain, { hash: "#source?line=11" });
    assert.equal(await page.page.locator("a.edit, a.in-editor").count(), 0);
    await page.close();
  } finally {
    end();
  }
});

test("the tree is gone through by keyboard, and what is done stands in the address", needsBrowser, () =>
  withPage(recording("cpu"), { hash: "#tree" }, async (page) => {
    const tree = page.page.getByRole("tree");
    const current = () => tree.locator('[aria-selected="true"]');
    await page.page.getByRole("button", { name: "Close all" }).click();
    const closed = await tree.getByRole("treeitem").count();
    await tree.focus();
    await page.page.keyboard.press("Home");
    await page.page.keyboard.press("ArrowRight");
    assert.equal(await current().getAttribute("aria-level"), "2");
    await page.page.keyboard.press("*");
    const opened = await tree.getByRole("treeitem").count();
    assert.ok(opened > closed, `${opened} rows after ${closed}`);
    await page.page.keyboard.press("ArrowLeft");
    assert.equal(await current().getAttribute("aria-expanded"), "false");
    await page.page.keyboard.press("ArrowLeft");
    assert.equal(await current().getAttribute("aria-level"), "1");
    assert.equal(await tree.getAttribute("aria-activedescendant"), await current().getAttribute("id"));
    // Drop a function by its menu, and take it back.
    await page.page.keyboard.press("*");
    await tree.getByRole("treeitem").filter({ hasText: "parse" }).first().click({ button: "right" });
    await page.page.getByRole("menuitem", { name: "Drop the samples with this function" }).click();
    await page.settled();
    assert.match(await hash(page), /transform=drop-function:\^parse\$/);
    assert.equal(await tree.getByRole("treeitem").filter({ hasText: "parse" }).count(), 0);
    await page.page.goBack();
    await page.settled();
    assert.doesNotMatch(await hash(page), /transform/);
    assert.ok((await tree.getByRole("treeitem").filter({ hasText: "parse" }).count()) > 0);
  }));

test("chains of library functions are one row, which opens", needsBrowser, () =>
  withPage(recording("cpu"), { hash: "#tree?libraries=folded" }, async (page) => {
    const folded = page.page.locator(".tree .folded");
    assert.ok((await folded.count()) > 0, "the thread is started by a library");
    assert.match(await folded.first().innerText(), /\d+ functions of libraries/);
    const before = await page.page.getByRole("treeitem").count();
    await folded.first().click();
    assert.ok((await page.page.getByRole("treeitem").count()) > before);
    assert.match(await page.page.locator(".tree").innerText(), /threading\.py/);
  }));

test("a function that was counted shows its callers and callees", needsBrowser, () => {
  const file = recording("calls");
  return withPage(file, { hash: "#exact" }, async (page) => {
    await page.page.getByLabel("Search").fill("middle");
    await page.page.locator("tbody tr[data-row]").first().click();
    await page.page.locator('[data-table^="callees of"] [data-row]').first().waitFor();
    await page.settled();
    const numbers = await numbersIn(page);
    compare(numbers.filter(({ is }) => is !== "rows_shown"), tablesOf("exact")({ file, filter: "" }), "callers and callees");
    const leaf = numbers.find(({ table, row, is }) => table.startsWith("callees of") && /leaf/.test(row) && is === "calls");
    assert.equal(leaf.number, 600);
    await page.page.locator(".neighbours").getByRole("link", { name: /calls\.py/ }).click();
    await page.settled();
    assert.match(await hash(page), /^#source\?file=.*calls\.py&line=10/);
    assert.match(await page.page.locator("tr.chosen").innerText(), /def middle/);
  });
});

test("lines that were counted lead to their source, which has their hits", needsBrowser, () =>
  withPage(recording("lines"), { hash: "#exact" }, async (page) => {
    await page.page.getByRole("link", { name: /^Line \d+: its source/ }).first().click();
    await page.settled();
    assert.match(await hash(page), /^#source\?file=.*calls\.py/);
    await page.page.locator(".code thead th", { hasText: "Hits" }).waitFor();
    assert.ok((await page.page.locator(".code tr.chosen").count()) === 1);
  }));

test("the columns of a listing are chosen, and stand in the address", needsBrowser, () => {
  const file = recording("memory");
  const source = join(PROGRAMS, "memory.py");
  return withPage(file, { hash: `#source?${new URLSearchParams({ file: source })}` }, async (page) => {
    const heads = () => page.page.locator(".code thead th").allInnerTexts();
    const code = () => page.page.locator(".code").evaluate((box) => box.getBoundingClientRect().right - box.querySelector("td pre").getBoundingClientRect().left);
    // The columns of memory come with a second answer.
    await page.page.locator(".code thead th", { hasText: "Allocated" }).waitFor();
    const first = await heads();
    assert.ok(first.includes("Allocated") && !first.includes("Peak") && !first.includes("Amount"), first.join());
    assert.ok((await code()) > 400, `${await code()} pixels for the text`);
    await page.page.locator(".column-choice summary").click();
    await page.page.getByRole("checkbox", { name: "Peak" }).check();
    await page.page.getByRole("checkbox", { name: "Live" }).uncheck();
    await page.settled();
    assert.match(await hash(page), /columns=.*allocated,peak,trend/);
    const then = await heads();
    assert.ok(then.includes("Peak") && !then.includes("Live"), then.join());
    const numbers = await numbersIn(page);
    assert.ok(numbers.some(({ table, is }) => table === "heap" && is === "peak_bytes"), "no peak");
    compare(numbers, tablesOf("source")({ file, filter: "", values: { hasMemory: true } }), "the columns");
    await page.page.keyboard.press("Escape");
    assert.equal(await page.page.getByRole("checkbox", { name: "Peak" }).isVisible(), false);
    await page.go(`#source?${new URLSearchParams({ file: source, columns: "none" })}`);
    assert.deepEqual(await heads(), ["Line", ""]);
  });
});

test("code of a notebook's cell has the cell's name everywhere, and is not missed", needsBrowser, () =>
  withPage(recording("cells"), { hash: "#source" }, async (page) => {
    const files = await page.page.getByRole("navigation", { name: "Files" }).locator("a").allInnerTexts();
    assert.ok(files.some((text) => text.endsWith("In [2]")) && files.some((text) => text.endsWith("In [3]")), files.join());
    await page.go("#source?file=/tmp/ipykernel_7/22.py&line=5");
    const tools = await page.page.locator(".listing > .tools").innerText();
    assert.match(tools, /^In \[2\]/);
    assert.doesNotMatch(tools, /ipykernel|not on this machine/);
    assert.match(await page.page.locator("tr.chosen").innerText(), /total \+= i \* i/);
    await page.go("#overview");
    assert.match(await page.page.getByRole("region", { name: "Hottest lines" }).innerText(), /In \[2\]:5/);
  }));

test("what was counted is not said to be sampled", needsBrowser, () =>
  withPage(recording("calls"), { hash: "#overview" }, async (page) => {
    const whole = await page.page.getByRole("region", { name: "The whole" }).innerText();
    assert.match(whole, /no samples were taken\.$/m);
    assert.doesNotMatch(whole, /none|lost/);
  }));

test("the track over time says what has no place in time", needsBrowser, async () => {
  for (const name of ["cpu", "processes"]) {
    await withPage(recording(name), { hash: "#overview" }, async (page) => {
      const { unplaced, all } = await page.ask("timeline", { tracks: 0 });
      const said = page.page.locator('.time-track [data-is="unplaced"]');
      assert.deepEqual(await said.evaluateAll((all) => all.map((one) => Number(one.dataset.number))), unplaced > 0 ? [unplaced] : []);
      const { selection } = report(recording(name), "summary");
      assert.ok(Math.abs(all.total + unplaced - selection.seconds * 1e9) < 1e3, `${all.total} and ${unplaced} of ${selection.seconds}`);
    });
  }
});

test("memory that grows is said in words, with what shows the lines", needsBrowser, () =>
  withPage(recording("growing"), {}, async (page) => {
    const finding = page.page.locator(".findings li", { hasText: "Growth" });
    await finding.waitFor();
    assert.match(await finding.innerText(), /^Growth: the memory of process \d+ grew by [\d.]+ MB\/s, for the last [\d.]+ s\. --memory records which lines allocate it\. Memory$/);
  }));
