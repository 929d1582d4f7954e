// What changes while pages look: two tabs of one server, files that are replaced, a recording that is
// being written.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

import { COMMAND, ENVIRONMENT, report } from "./harness/command.mjs";
import { compare, numbersIn } from "./harness/numbers.mjs";
import { needsBrowser, open, openRecording, start } from "./harness/page.mjs";
import { copyOf, filesOf, FOLDER, PROGRAMS, python, recording } from "./harness/recordings.mjs";
import { memory } from "./tables/memory.mjs";

/** Views of two recordings of memory: each of them asks another question. */
const VIEWS = ["overview", "timeline", "heatmap", "memory", "compare", "flame"];

/** Longer than the server waits before it reads a file that has changed again. */
const REST = 1500;

const text = (page) => page.page.locator("main").innerText();

/** Waits until a page comes to say something else, or until something holds. */
async function until(holds, what) {
  const deadline = Date.now() + 30_000;
  while (!(await holds())) {
    assert.ok(Date.now() < deadline, what);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

test("two pages of one server do not disturb each other, in any view", needsBrowser, async () => {
  const files = filesOf("memories");
  const [one, other] = [await openRecording(files), await openRecording(files)];
  const seen = new Map();
  for (const round of [1, 2]) {
    for (const view of VIEWS) {
      // Both ask at the same time, and for other samples.
      await Promise.all([one.go(`#${view}`), other.go(`#${view}?filter=ignore%3Dkeep`)]);
      const texts = [await text(one), await text(other)];
      assert.deepEqual(texts, seen.get(view) ?? texts, `${view}, in round ${round}`);
      seen.set(view, texts);
    }
  }
  await one.close();
  await other.close();
});

test("a recording that is replaced is shown anew in the views of time, memory and difference", needsBrowser, async () => {
  const [first, second] = filesOf("memories").map((path) => readFileSync(path));
  const file = copyOf("memory", "replaced_memory.profundo");
  const server = await start([file, recording("memory2")]);
  const page = await open(server.url);
  const fresh = await open(server.url);
  try {
    let isFirst = true;
    for (const view of VIEWS.filter((view) => view !== "flame")) {
      await page.go(`#${view}`);
      const before = await text(page);
      isFirst = !isFirst;
      writeFileSync(file, isFirst ? first : second);
      await until(async () => (await text(page)) !== before, `${view} still shows the file before`);
      await page.settled();
      // It is what a page shows that knows the new file only.
      await fresh.page.goto(`${server.url}#${view}`);
      await fresh.page.reload();
      await fresh.settled();
      await until(async () => (await text(page)) === (await text(fresh)), `${view} shows neither file`);
      // A file that was half written when it was looked at is looked at once more.
      await new Promise((resolve) => setTimeout(resolve, REST));
      await page.settled();
    }
    await page.close();
    await fresh.close();
  } finally {
    server.stop();
  }
});

test("a recording that is being written is followed, held still and looked back at in each view", needsBrowser, async () => {
  const file = join(FOLDER, "growing.profundo");
  rmSync(file, { force: true });
  const words = ["record", "--memory", "--force", "-o", file, "--", python(), join(PROGRAMS, "goes_on.py")];
  const program = spawn(COMMAND, words, { env: ENVIRONMENT, stdio: ["pipe", "ignore", "ignore"] });
  const ended = new Promise((resolve) => program.once("exit", resolve));
  let server;
  try {
    await until(() => existsSync(file) && readFileSync(file).length > 20_000, "nothing is written");
    server = await start([file]);
    const page = await open(server.url);
    const status = page.page.locator(".live [role=status]");
    // With its first samples it has a time, and can be held still.
    await until(async () => (await page.ask("about")).recordings[0].has.samples, "it has no sample");
    assert.ok((await page.ask("about")).recordings[0].duration_seconds > 0);
    for (const view of ["timeline", "heatmap", "memory"]) {
      await page.go(`#${view}`);
      const before = await text(page);
      await until(async () => (await text(page)) !== before, `${view} does not follow`);
    }
    await until(async () => /Recording · .* so far/.test(await status.innerText()), "it does not say how long it is");
    // A pause is a filter: what is shown stays, and is what the command says of that time.
    await page.go("#memory");
    await page.page.getByRole("button", { name: "Pause" }).click();
    await page.settled();
    const filter = new URLSearchParams((await page.page.evaluate(() => location.hash)).split("?")[1]).get("filter");
    assert.match(filter, /^to=[\d.]+$/);
    const held = await text(page);
    await new Promise((resolve) => setTimeout(resolve, 1500)); // The time is the subject: it goes on meanwhile.
    assert.equal(await text(page), held);
    await page.page.getByRole("button", { name: "Follow" }).click();
    await until(async () => (await text(page)) !== held, "it does not follow again");
    program.stdin.end("enough\n");
    await ended;
    await until(async () => (await page.page.getByRole("button", { name: "Pause" }).count()) === 0, "it does not see the end");
    await page.settled();
    const about = { has: { gauges: true, memory: true } };
    const known = await memory({ file, filter: "", page, values: {}, about });
    const isSame = async () => {
      try {
        compare(await numbersIn(page), known, "after its end");
        return true;
      } catch {
        return false;
      }
    };
    await until(isSame, "it does not come to what the command says of the whole");
    assert.ok(report(file, "summary").selection.samples > 0);
    await page.close();
  } finally {
    program.stdin.destroy();
    program.kill("SIGTERM");
    server?.stop();
  }
});
