// Two sides: sets of recordings, memory, heap snapshots. What the page says of them is what
// `profundo diff` and `profundo heap` print, and each side is named.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { copyFileSync, existsSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

import { ENVIRONMENT, profundo, report } from "./harness/command.mjs";
import { numbersIn } from "./harness/numbers.mjs";
import { keyOf } from "./tables/difference.mjs";
import { needsBrowser, open, serve, start, withPage } from "./harness/page.mjs";
import { FOLDER, PROGRAMS, python, recording } from "./harness/recordings.mjs";

/** Checks that each number of a table with a member is that of the row with its key. */
function sameAs(numbers, rows, key, least) {
  const found = numbers.filter(({ is, row }) => is !== "" && row !== "");
  assert.ok(found.length >= least, `${found.length} numbers`);
  for (const { row, is, number } of found) {
    const known = rows.filter((one) => key(one) === row);
    assert.ok(known.some((one) => one[is] === number), `${row} ${is}: the page has ${number}, the command ${known.map((one) => one[is]).join()}`);
  }
}

/** A recording of another program's memory. */
function other() {
  const path = join(FOLDER, "other-memory.profundo");
  if (!existsSync(path)) {
    profundo(["record", "--memory=exact", "-o", path, "--", python(), join(PROGRAMS, "calls.py")]);
  }
  return path;
}

/** Two runs of each side. What they allocate is exact, so that rows have changed beyond chance. */
function sets() {
  const copies = (file, name) => [1, 2].map((number) => {
    const path = join(FOLDER, `${name}${number}.profundo`);
    copyFileSync(file, path);
    return path;
  });
  return [...copies(recording("exact"), "before"), "--", ...copies(other(), "after")];
}

test("two sets of runs are compared as `diff` compares them, and each run is named", needsBrowser, async () => {
  const files = sets();
  const { url } = await serve(...files);
  const page = await open(url, { hash: "#compare?of=allocated" });
  const said = JSON.parse(profundo(["diff", "--json", "--of", "allocated", "--limit", "2000", ...files]));
  await page.page.locator("details.runs summary").first().waitFor();
  const text = await page.page.locator("main").innerText();
  for (const words of ["Before: before1, before2", "After: after1, after2", said.verdict.replaceAll("`", "")]) {
    assert.ok(text.includes(words), `“${words}” is not in ${text.slice(0, 800)}`);
  }
  await page.page.locator("details.runs summary").first().click();
  assert.match(await page.page.locator("details.runs ul").first().innerText(), /before1[^]*before2/);
  const [functions] = said.tables;
  // On a busy machine no function may have changed beyond chance: then there is no table.
  const shown = functions.rows.length === 0 ? [] : await numbersIn(page, `table[data-table="function"]`);
  sameAs(shown, functions.rows, keyOf, Math.min(3, functions.rows.length));
  assert.match(await page.page.locator(".head .command").innerText(), /before1.profundo, before2.profundo → after1.profundo, after2.profundo/);
  await page.close();
});

test("rows by thread are asked for, and are those of the command", needsBrowser, async () => {
  const files = [recording("cpu"), recording("spans")];
  const { url } = await serve(...files);
  const page = await open(url, { hash: "#compare" });
  await page.page.locator("section.changes select").first().selectOption("thread");
  await page.page.locator('table[data-table="thread"]').waitFor();
  await page.settled();
  const said = JSON.parse(profundo(["diff", ...files, "--json", "--by", "thread", "--limit", "2000"]));
  sameAs(await numbersIn(page, 'table[data-table="thread"]'), said.tables[0].rows, keyOf, 3);
  await page.close();
});

test("memory is compared in place of time", needsBrowser, async () => {
  const files = [recording("exact"), other()];
  const { url } = await serve(...files);
  const page = await open(url, { hash: "#compare?of=allocated" });
  const said = JSON.parse(profundo(["diff", ...files, "--json", "--of", "allocated", "--limit", "2000"]));
  assert.equal(said.unit, "bytes");
  await page.page.locator('table[data-table="function"]').waitFor();
  sameAs(await numbersIn(page, 'table[data-table="function"]'), said.tables[0].rows, keyOf, 2);
  await page.close();
});

/** Skips a test where no process may be looked into. */
function skipped(t, error) {
  const why = `${error.stderr ?? ""}${error.message}`;
  if (!/ptrace|permi/.test(why)) {
    throw error;
  }
  t.skip(`no process may be looked into here: ${why.split("\n")[0]}`);
}

/** Two snapshots of a program that keeps more and more. */
async function snapshots(t) {
  const files = ["before", "now"].map((name) => join(FOLDER, `${name}.heapsnapshot`));
  if (files.every((file) => existsSync(file))) {
    return files;
  }
  const text = "import sys\nclass Session:\n    pass\nkept = [Session() for _ in range(500)] + [bytearray(99)]\nprint(1, flush=True)\nsys.stdin.readline()\nkept += [Session() for _ in range(300)]\nprint(2, flush=True)\nsys.stdin.readline()\n";
  const child = spawn(python(), ["-c", text], { env: ENVIRONMENT, stdio: ["pipe", "pipe", "inherit"] });
  for (const file of files) {
    await new Promise((resolve) => child.stdout.once("data", resolve));
    try {
      profundo(["snapshot", String(child.pid), "--force", "-o", file]);
    } catch (error) {
      child.kill();
      return skipped(t, error);
    }
    child.stdin.write("\n");
  }
  return files;
}

test("two heap snapshots are compared beside recordings and alone", needsBrowser, async (t) => {
  const files = await snapshots(t);
  if (files === undefined) {
    return;
  }
  const said = JSON.parse(profundo(["heap", ...files, "--json", "--limit", "2000"]));
  const grown = said.types.find(({ type }) => type.endsWith("Session"));
  assert.equal(grown.objects_now - grown.objects_before, 300);
  for (const [beside, hash] of [[[], ""], [[recording("memory")], "#compare"]]) {
    const server = await start([...beside, ...files]);
    const page = await open(server.url, { hash });
    try {
      assert.equal(await page.page.locator('nav.views [aria-current="page"]').innerText(), "Compare");
      await page.page.locator('table[data-table="changes"]').waitFor();
      assert.match(await page.page.locator("main").innerText(), /Before: before\.heapsnapshot.*Now: now\.heapsnapshot/s);
      sameAs(await numbersIn(page, 'table[data-table="changes"]'), said.types, (row) => row.type, 6);
      await page.close();
    } finally {
      server.stop();
    }
  }
});

test("a type leads from the heap to the lines that allocate it", needsBrowser, async (t) => {
  const [file] = (await snapshots(t)) ?? [];
  if (file === undefined) {
    return;
  }
  const { url } = await serve(file, recording("memory"));
  const page = await open(url, { hash: "#heap?of_type=bytearray" });
  const said = report(recording("memory"), "allocs");
  assert.ok(said.allocations.types.some(({ type }) => type === "bytearray"), "the program makes them");
  await page.page.locator("aside.neighbours ol li").first().waitFor();
  assert.match(await page.page.locator("aside.neighbours").innerText(), /Lines that allocate it\s+[\d.]+ [kM]B/);
  await page.close();
});

test("the stacks of memory have the sums of the report", needsBrowser, () =>
  withPage(recording("exact"), { hash: "#memory?table=stacks" }, async (page) => {
    const answer = await page.page.evaluate(() => fetch("api/memory_stacks?limit=100000").then((answer) => answer.json()));
    const { total } = report(recording("exact"), "allocs").allocations;
    for (const is of ["allocated_bytes", "allocated_blocks", "live_bytes", "peak_bytes", "temporary_bytes"]) {
      assert.equal(answer.total[is], total[is], is);
      assert.equal(answer.stacks.reduce((sum, row) => sum + row[is], 0), total[is], `the sum of ${is}`);
    }
    const row = page.page.locator('[data-table="memory_stacks"] tbody tr[data-row]').first();
    await row.click();
    const [first] = answer.stacks;
    const chosen = page.page.locator("aside.neighbours");
    assert.equal(await chosen.locator("ol li").count(), first.stack.length);
    assert.match(await chosen.innerText(), new RegExp(answer.places.function[first.stack[0]].replace(/[<>[\]().*]/g, "\\$&")));
  }));

test("a span that is dragged on the timeline filters every other view", needsBrowser, () =>
  withPage(recording("wall"), { hash: "#timeline" }, async (page) => {
    const box = await page.page.locator(".plot").first().boundingBox();
    await page.page.mouse.move(box.x + 0.2 * box.width, box.y + 50);
    await page.page.mouse.down();
    await page.page.mouse.move(box.x + 0.5 * box.width, box.y + 50, { steps: 4 });
    await page.page.mouse.up();
    await page.page.locator(".chip").first().waitFor();
    const asked = [];
    page.page.on("request", (request) => asked.push(decodeURIComponent(request.url())));
    const places = await page.page.locator("nav.views a").evaluateAll((links) => links.map((link) => link.getAttribute("href")));
    assert.ok(places.length >= 6);
    for (const place of places) {
      assert.match(decodeURIComponent(place), /from=[\d.]+.to=[\d.]+/, place);
      await page.go(place);
    }
    // The text of a file is the same at any time.
    const free = asked.filter((url) => /\/api\//.test(url) && !/\/api\/(about|events|source)/.test(url) && !/from=[\d.]+.to=/.test(url));
    assert.deepEqual(free, []);
  }));

test("the timeline is zoomed by the keyboard and by the wheel, and asks for no more than its columns", needsBrowser, () =>
  withPage(recording("wall"), { hash: "#timeline" }, async (page) => {
    const window = async () => {
      const values = new URLSearchParams((await page.page.evaluate(() => location.hash)).split("?")[1] ?? "");
      return values.get("end") === null ? Infinity : Number(values.get("end")) - Number(values.get("start"));
    };
    const columns = () => page.page.evaluate(() => document.querySelector(".timeline .rows").answer.columns);
    const plot = page.page.locator(".plot").first();
    await plot.focus();
    await page.page.keyboard.press("+");
    const [first] = [await window(), await page.settled()];
    assert.ok(first < Infinity);
    const box = await plot.boundingBox();
    await page.page.mouse.move(box.x + box.width / 2, box.y + 40);
    await page.page.keyboard.down("Control");
    await page.page.mouse.wheel(0, -300);
    await page.page.keyboard.up("Control");
    await page.page.waitForFunction((first) => {
      const values = new URLSearchParams(location.hash.split("?")[1]);
      return Number(values.get("end")) - Number(values.get("start")) < first;
    }, first);
    await page.settled();
    assert.ok((await columns()) <= 600, `${await columns()} columns`);
    await plot.focus();
    await page.page.keyboard.press("-");
    await page.page.keyboard.press("-");
    await page.page.keyboard.press("-");
    await page.settled();
    assert.equal(await window(), Infinity, "all of it again");
  }));

test("a program that runs is followed, held, and looked back at", needsBrowser, async (t) => {
  const program = "import time\nend = time.time() + 60\ndef work():\n    return sum(i * i for i in range(20000))\nwhile time.time() < end:\n    work()\n";
  const child = spawn(python(), ["-c", program], { env: ENVIRONMENT, stdio: "ignore" });
  try {
    const server = await start([String(child.pid)], FOLDER).catch((error) => skipped(t, error));
    if (server === undefined) {
      return;
    }
    const page = await open(server.url, { hash: "#functions" });
    try {
      const status = page.page.locator(".live [role=status]");
      const seconds = async () => Number(/([\d.]+) s so far/.exec(await status.innerText())?.[1] ?? 0);
      await page.page.waitForFunction(() => /[1-9][\d.]* s so far/.test(document.querySelector(".live [role=status]")?.textContent ?? ""));
      const first = await seconds();
      await page.page.waitForFunction((first) => Number(/([\d.]+) s so far/.exec(document.querySelector(".live [role=status]").textContent)?.[1]) > first, first);
      await page.page.getByRole("button", { name: "Pause" }).click();
      await page.settled();
      const held = await status.innerText();
      assert.match(held, /Paused/);
      const rows = () => page.page.locator("tbody").innerText();
      const [before] = [await rows(), await new Promise((resolve) => setTimeout(resolve, 2500))];
      assert.equal(await rows(), before, "nothing moves while it is held");
      await page.page.getByRole("button", { name: "Follow" }).click();
      await page.page.waitForFunction((held) => document.querySelector(".live [role=status]").textContent !== held, held);
      await page.close();
    } finally {
      server.child.kill("SIGINT");
      await new Promise((resolve) => server.child.once("exit", resolve));
    }
  } finally {
    child.kill();
  }
});
