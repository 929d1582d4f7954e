// How long a large profile takes to open, and how much memory its page takes: here and in
// speedscope, in one browser.
//
//     node bench/speedscope.mjs PROFUNDO SPEEDSCOPE_INDEX_HTML RECORDING…
//
// Beside each recording lies what `profundo export --to speedscope` made of it, under the same name
// with the ending `.speedscope.json`. The times are those of a person: from the start of the command, or
// from the choice of the file, to the flame graph on the screen. The memory is that of the page's
// process, and for Profundo also that of its server, after the flame graph was seen.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, statSync } from "node:fs";
import { createInterface } from "node:readline";
import { chromium } from "playwright-core";

const [profundo, index, ...files] = process.argv.slice(2);
if (files.length === 0) {
  console.error("usage: node bench/speedscope.mjs PROFUNDO SPEEDSCOPE_INDEX_HTML RECORDING…");
  process.exit(2);
}

/** The most that a page may take, in milliseconds. */
const PATIENCE = 300_000;
const ROUNDS = 3;

const mebibytes = (bytes) => `${(bytes / 2 ** 20).toFixed(0)} MiB`;
const seconds = (milliseconds) => `${(milliseconds / 1000).toFixed(2)} s`;

async function browse(use) {
  const browser = await chromium.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    args: ["--no-sandbox", "--enable-precise-memory-info"],
  });
  try {
    const page = await browser.newPage({ viewport: { width: 1280, height: 860 } });
    page.setDefaultTimeout(PATIENCE);
    return await use(page, browser);
  } finally {
    await browser.close();
  }
}

/** The bytes of JavaScript objects on a page, after a collection. */
async function heapOf(page) {
  const session = await page.context().newCDPSession(page);
  await session.send("HeapProfiler.collectGarbage");
  const { usedSize } = await session.send("Runtime.getHeapUsage");
  return usedSize;
}

const drawn = (page) => page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));

const inSpeedscope = (file) =>
  browse(async (page) => {
    const failures = [];
    page.on("pageerror", (error) => failures.push(error.message));
    page.on("dialog", (dialog) => (failures.push(dialog.message()), dialog.dismiss()));
    page.on("crash", () => failures.push("the page crashed"));
    await page.goto(`file://${index}`);
    await page.waitForSelector("input[type=file]", { state: "attached" });
    const began = performance.now();
    await page.setInputFiles("input[type=file]", file);
    const loaded = page.getByText("Left Heavy").first().waitFor();
    const failed = (async () => {
      while (failures.length === 0) {
        await new Promise((again) => setTimeout(again, 100));
      }
      throw new Error(failures[0]);
    })();
    await Promise.race([loaded, failed]);
    await drawn(page);
    const took = performance.now() - began;
    failures.push("");
    failed.catch(() => {});
    return { took, heap: await heapOf(page), server: 0 };
  });

async function inProfundo(file) {
  const began = performance.now();
  const server = spawn(profundo, ["view", "--no-open", file], { stdio: ["ignore", "pipe", "ignore"], env: { ...process.env, PROFUNDO_NO_CONFIG: "1" } });
  try {
    const [address] = await once(createInterface(server.stdout), "line");
    const served = performance.now() - began;
    return await browse(async (page) => {
      // The browser is open already, as it is for the other one.
      const asked = performance.now();
      await page.goto(`${address.trim()}#flame`);
      await page.waitForFunction(() => document.querySelector("main canvas")?.drawing?.picture?.boxes?.level?.length > 1);
      await drawn(page);
      const took = served + performance.now() - asked;
      const heap = await heapOf(page);
      const status = readFileSync(`/proc/${server.pid}/status`, "utf8");
      return { took, heap, server: Number(/VmRSS:\s+(\d+)/.exec(status)[1]) * 1024, most: Number(/VmHWM:\s+(\d+)/.exec(status)[1]) * 1024 };
    });
  } finally {
    server.kill();
  }
}

for (const file of files) {
  console.log(`${file} (${mebibytes(statSync(file).size)})`);
  for (let round = 0; round < ROUNDS; round++) {
    for (const [name, open] of [["profundo", inProfundo], ["speedscope", inSpeedscope]]) {
      try {
        const { took, heap, server, most } = await open(name === "profundo" ? file : file.replace(/\.profundo$/, ".speedscope.json"));
        const ours = most === undefined ? "" : `, server ${mebibytes(server)} (at most ${mebibytes(most)})`;
        console.log(`  ${name.padEnd(10)} ${seconds(took)}, page ${mebibytes(heap)}${ours}`);
      } catch (error) {
        console.log(`  ${name.padEnd(10)} ${String(error.message).split("\n")[0]}`);
      }
    }
  }
}
