// Calls that are deeper than the stack of the browser: a chain of 50 000 boxes, and one of as many
// functions of a library. Each picture of calls shows it, goes through it, and says its text.

import assert from "node:assert/strict";
import { test } from "node:test";

import { needsBrowser, withPage } from "./harness/page.mjs";
import { recording } from "./harness/recordings.mjs";

const DEPTH = 50_000;

/** An answer to `flame`: a chain of calls whose last one has two callees. From the third box on, the
 * functions are a library's. */
function chain() {
  const length = DEPTH + 2;
  const of = (value) => Array.from({ length }, (_, at) => value(at));
  const boxes = {
    function: of((at) => (at === 0 ? -1 : at <= 2 ? 0 : at < DEPTH ? 1 : 2)),
    level: of((at) => Math.min(at, DEPTH)),
    weight: of((at) => (at < DEPTH ? 3e9 : at === DEPTH ? 2e9 : 1e9)),
    own: of((at) => (at < DEPTH ? 0 : at === DEPTH ? 2e9 : 1e9)),
    count: of(() => 3),
    line: of(() => 7),
    last_line: of(() => 7),
    path: of((at) => at * 11),
  };
  const none = { function: [], level: [], weight: [], own: [], count: [], line: [], last_line: [], path: [] };
  return {
    unit: "time",
    total: 3e9,
    total_count: 3,
    callers: none,
    functions: {
      name: ["mine", "theirs", "last"],
      file: ["/a/mine.py", "/lib/theirs.py", "/a/last.py"],
      kind: ["python", "python", "python"],
      package: ["", "theirs", ""],
      library: ["", "theirs", ""],
      is_library: [false, true, false],
      key: [1, 2, 3],
    },
    boxes,
    least: 0,
  };
}

/** Opens the page, whose pictures of calls all have the chain. */
const withChain = (hash, act) =>
  withPage(recording("cpu"), { hash: "#functions" }, async (page) => {
    const body = JSON.stringify(chain());
    await page.page.route(/api\/flame\b/, (route) => route.fulfill({ contentType: "application/json", body }));
    await page.context.grantPermissions(["clipboard-read", "clipboard-write"]);
    await page.go(hash);
    await act(page);
  });

test("the tree opens a chain of 50 000 calls, goes to its end and copies it", needsBrowser, () =>
  withChain("#tree", async (page) => {
    const tree = page.page.getByRole("tree");
    const current = () => tree.locator('[aria-selected="true"]');
    const rows = () => tree.getByRole("treeitem").count();
    assert.ok((await rows()) > 30 && (await rows()) < 1000, `${await rows()} rows are on the page`);
    await tree.focus();
    await page.page.keyboard.press("End");
    await page.settled();
    assert.equal(await current().getAttribute("aria-level"), String(DEPTH + 1));
    assert.match(await current().innerText(), /last/);
    assert.equal(await tree.getAttribute("aria-activedescendant"), await current().getAttribute("id"));
    const { bottom, end } = await current().evaluate((row) => ({ bottom: row.getBoundingClientRect().bottom, end: row.parentElement.getBoundingClientRect().bottom }));
    assert.ok(bottom <= end + 1, `the last row ends at ${bottom}, the tree at ${end}`);
    await page.page.keyboard.press("ArrowLeft");
    await page.settled();
    assert.equal(await current().getAttribute("aria-level"), String(DEPTH));
    await page.page.getByRole("button", { name: "Copy as text" }).click();
    await page.page.waitForFunction(() => document.querySelector("footer").innerText.includes("copied"));
    const text = await page.page.evaluate(() => navigator.clipboard.readText());
    assert.equal(text.split("\n").length, DEPTH + 3);
    // The stack of one row.
    await tree.focus();
    await page.page.keyboard.press("m");
    await page.page.getByRole("menuitem", { name: "Copy the stack as text" }).click();
    await page.page.waitForFunction(async (lines) => (await navigator.clipboard.readText()).split("\n").length === lines, DEPTH);
  }));

test("a folded chain of 50 000 functions of a library is one row, and opens", needsBrowser, () =>
  withChain("#tree?libraries=folded", async (page) => {
    const tree = page.page.getByRole("tree");
    assert.match(await tree.locator(".folded").innerText(), new RegExp(`${DEPTH - 3} functions of libraries, from theirs`));
    assert.equal(await tree.getByRole("treeitem").count(), 6);
    await tree.locator(".folded").click();
    await tree.focus();
    await page.page.keyboard.press("End");
    await page.settled();
    assert.equal(await tree.locator('[aria-selected="true"]').getAttribute("aria-level"), String(DEPTH + 2));
  }));

test("flame graphs and squares show a chain of 50 000 calls", needsBrowser, async () => {
  for (const place of ["#flame", "#flame?shape=inverted", "#square", `#square?path=${11 * (DEPTH - 1)}`, `#flame?path=${11 * (DEPTH - 1)}`]) {
    await withChain(place, async (page) => {
      const drawn = await page.page.evaluate(() => document.querySelector("main canvas").drawing.picture.rows.length);
      assert.equal(drawn, DEPTH + 1, place);
      const crumbs = await page.page.locator("nav.callers button").count();
      assert.ok(crumbs <= 42, `${place}: ${crumbs} callers`);
      await page.page.getByRole("application").focus();
      for (const key of ["ArrowDown", "ArrowDown", "ArrowUp"]) {
        await page.page.keyboard.press(key);
      }
      assert.match(await page.page.locator("footer").innerText(), /total/);
    });
  }
});
