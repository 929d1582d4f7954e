// The page of a query of a store: what was asked, commands that a shell takes, and time that is spread
// over the steps of the store.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

import { json, profundo } from "./harness/command.mjs";
import { needsBrowser, offline, open, withPage } from "./harness/page.mjs";
import { FOLDER, python, recording } from "./harness/recordings.mjs";

const STORE = join(FOLDER, "it's a store");
const PROGRAM = "import time\nend = time.monotonic() + 6\nwhile time.monotonic() < end: sum(range(20000))\n";
let isMade = false;

/** A query of a store that has a program of one busy thread. */
function query(rest) {
  if (!isMade) {
    // The folder of the recordings is made with the first one.
    recording("cpu");
    rmSync(STORE, { recursive: true, force: true });
    profundo(["watch", "--to", STORE, "--every", "2s", "--service", "api", "--label", "version=1.4", "--", python(), "-c", PROGRAM]);
    isMade = true;
  }
  return `${STORE}?service=api&from=-1h${rest}`;
}

/** What a shell makes of a command's words. */
const words = (command) => execFileSync("sh", ["-c", `for word in ${command}; do printf '%s\\n' "$word"; done`], { encoding: "utf8" }).trimEnd().split("\n");

test("the page of a query says what was asked, and who has recorded it", needsBrowser, () =>
  withPage(query(""), {}, async (page) => {
    const whole = await page.page.getByRole("region", { name: "The whole" }).innerText();
    assert.match(whole, /^api 1\.4$/m);
    assert.match(whole, /^from .* · .*it's a store · 1 host · \d+ process(es)? · \d+ threads?$/m);
    assert.match(whole, /Recorded by profundo watch/);
    assert.doesNotMatch(whole, /Another tool/);
    assert.match(whole, /With &step=1m in the query, there is a timeline/);
    const { selection } = json(["report", query("")]);
    const cpus = page.page.locator('[data-is="cpus"]');
    // The last step may go on for some time yet.
    const shown = Number(await cpus.getAttribute("data-number"));
    assert.ok(Math.abs(shown / selection.cpus - 1) < 0.3, `${shown} and ${selection.cpus}`);
    assert.equal(await page.page.title(), "api 1.4 – Profundo");
    assert.equal((await page.page.locator("header .command").textContent()).trim(), "api 1.4");
  }));

test("commands on the page of a query are such for a shell", needsBrowser, async () => {
  const page = await open(offline(query(""), join(FOLDER, "query.html")));
  const command = (await page.page.locator(".filters code").innerText()).trim();
  assert.deepEqual(words(command), ["profundo", "view", query("")]);
  await page.go("#graph");
  const other = (await page.page.locator(".refusal code").innerText()).trim();
  assert.deepEqual(words(other), ["profundo", "view", query("")]);
  await page.close();
});

test("no moment of a timeline has more time than its thread", needsBrowser, () =>
  withPage(query("&step=1s"), { hash: "#timeline" }, async (page) => {
    const answer = await page.ask("timeline", { tracks: 10, columns: 40 });
    const tracks = answer.processes.flatMap(({ tracks }) => tracks);
    for (const { name, row } of tracks) {
      assert.ok(row.most <= 1005, `${name} has ${row.most} thousandths of a column`);
    }
    assert.ok(answer.all.most <= 1005 * answer.tracks, `${answer.all.most} thousandths of ${answer.tracks} threads`);
    // Within a step of the store, 2 s, the time is the same in all columns.
    const { none, ...busy } = tracks[0].row.columns;
    const steps = new Map();
    for (let at = 0; at < answer.columns; at++) {
      const [first, last] = [at, at + 1].map((at) => Math.floor((answer.from + at * answer.step) / 2e9));
      if (first === last) {
        const sum = Object.values(busy).reduce((sum, list) => sum + list[at], 0);
        steps.set(first, [...(steps.get(first) ?? []), sum]);
      }
    }
    // A step with few samples has some columns without one.
    const sampled = [...steps.values()].filter((sums) => sums.reduce((all, sum) => all + sum, 0) / sums.length > 200);
    assert.ok(sampled.length > 1, JSON.stringify([...steps]));
    for (const sums of sampled) {
      assert.ok(Math.min(...sums) > Math.max(...sums) / 2, `${sums}`);
    }
  }));
