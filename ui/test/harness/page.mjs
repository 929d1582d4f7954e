// The page in a browser: a server is started for a recording, and chromium opens it. An error on
// the console, an uncaught one, a request to another host and a breach of the page's own policy
// each fail the test that made it.

import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import assert from "node:assert/strict";

import { chromium } from "playwright-core";

import { COMMAND, ENVIRONMENT, profundo } from "./command.mjs";

const BROWSERS = [process.env.PROFUNDO_CHROMIUM, "/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];

/** The browser, if there is one. */
export const BROWSER = BROWSERS.find((path) => path !== undefined && existsSync(path));

/** The option of a test that needs a browser. */
export const needsBrowser = BROWSER === undefined ? { skip: "chromium is not installed" } : {};

let started;
const servers = new Map();

/** The browser of all tests. A root's one needs to be without its sandbox. */
function browser() {
  started ??= chromium.launch({ executablePath: BROWSER, args: ["--no-sandbox", "--disable-dev-shm-usage"] });
  return started;
}

/** The server of a recording: its address, and the process. Each recording has one. It ends a minute
 * after its last page, and is started again then. */
export async function serve(...files) {
  const key = files.join(" ");
  const known = await servers.get(key)?.catch(() => undefined);
  if (known === undefined || known.child.exitCode !== null || known.child.signalCode !== null || !(await answers(known.url))) {
    servers.set(key, start(files));
  }
  return servers.get(key);
}

/** Whether a server listens. */
const answers = (url) => fetch(url).then(() => true, () => false);

/** A server of its own, which may be stopped. What it records lies in a folder. */
export function start(files, at = process.cwd()) {
  // Where it leaves its address: a second `view` of the same file would find this server.
  const folder = mkdtempSync(join(tmpdir(), "profundo-page-"));
  const child = spawn(COMMAND, ["view", "--no-open", ...files], {
    env: { ...ENVIRONMENT, XDG_RUNTIME_DIR: folder },
    cwd: at,
    stdio: ["ignore", "pipe", "pipe"],
  });
  child.on("exit", () => rmSync(folder, { recursive: true, force: true }));
  let said = "";
  let errors = "";
  child.stderr.on("data", (bytes) => (errors += bytes));
  return new Promise((resolve, reject) => {
    child.stdout.on("data", (bytes) => {
      said += bytes;
      if (said.includes("\n")) {
        resolve({ url: said.trim(), stop: () => child.kill("SIGKILL"), child });
      }
    });
    child.on("error", reject);
    child.on("exit", (code) => reject(new Error(`profundo view ended with ${code}: ${errors}`)));
  });
}

/** Ends the browser and the servers. */
export async function close() {
  await (await started)?.close();
  for (const server of servers.values()) {
    (await server.catch(() => undefined))?.stop();
  }
}

/** A page that watches itself. */
export class Page {
  constructor(page, context, address) {
    this.page = page;
    this.context = context;
    this.address = address;
    this.faults = [];
    this.open = new Set();
    /** Faults that the test expects. */
    this.expected = [];
  }

  /** Goes to a place of the page, and waits until it shows it. */
  async go(hash) {
    await this.page.evaluate((hash) => {
      location.hash = hash;
    }, hash);
    await this.settled();
  }

  /** An answer of the server, as JSON. */
  ask(name, values = {}) {
    const query = new URLSearchParams(Object.entries(values).filter(([, value]) => value !== undefined && value !== ""));
    return this.page.evaluate((path) => fetch(path).then((answer) => answer.json()), `api/${name}?${query}`);
  }

  /** Waits until nothing is asked and nothing waits for an answer. */
  async settled() {
    const deadline = Date.now() + 60_000;
    for (;;) {
      const isQuiet = await this.page.evaluate(
        () =>
          new Promise((resolve) =>
            requestAnimationFrame(() =>
              requestAnimationFrame(() => {
                const main = document.querySelector("main");
                const waits = main === null || main.querySelector('.old, [aria-busy="true"]') !== null || /One moment …/.test(main.textContent);
                resolve(!waits);
              }),
            ),
          ),
      );
      if (isQuiet && this.open.size === 0) {
        return;
      }
      assert.ok(Date.now() < deadline, `the page does not come to rest: ${[...this.open].join(" ")}`);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }

  /** Fails if the page had a fault. */
  check() {
    const faults = this.faults.filter((fault) => !this.expected.some((pattern) => pattern.test(fault)));
    assert.deepEqual(faults, [], "the page had faults");
  }

  async close() {
    await this.context.close();
    this.check();
  }
}

/** Opens an address: a server's, or a file's; in a browser that is so many times slower. */
export async function open(address, { hash = "", theme = "light", width = 1280, height = 800, slower = 1 } = {}) {
  const context = await (await browser()).newContext({ viewport: { width, height }, colorScheme: theme, acceptDownloads: true });
  context.setDefaultTimeout(30_000);
  const raw = await context.newPage();
  const page = new Page(raw, context, address);
  await watch(page);
  if (slower > 1) {
    await (await context.newCDPSession(raw)).send("Emulation.setCPUThrottlingRate", { rate: slower });
  }
  await raw.goto(address + hash);
  await page.settled();
  return page;
}

/** Opens a recording, or several. */
export async function openRecording(file, options = {}) {
  const { url } = await serve(...[file].flat());
  return open(url, options);
}

/** Opens a page, does something with it, and closes it. What it had of faults fails the test. */
export async function withPage(file, options, act) {
  const page = await openRecording(file, options);
  try {
    await act(page);
  } catch (error) {
    await page.context.close();
    throw page.faults.length === 0 ? error : new Error(`${error.message}\nfaults of the page: ${page.faults.join("; ")}`, { cause: error });
  }
  await page.close();
}

/** Opens what is folded. */
export async function openAll(page, summaries) {
  for (const summary of await page.page.locator(summaries).all()) {
    await summary.click();
  }
  await page.settled();
}

/** Moves the pointer over something, if there is anything. */
export async function point(page, selector) {
  if ((await page.page.locator(selector).count()) === 0) {
    return false;
  }
  const first = page.page.locator(selector).first();
  await first.scrollIntoViewIfNeeded();
  const { x, y, width, height } = await first.boundingBox();
  await page.page.mouse.move(x + Math.min(width / 2, 60), y + Math.min(height / 2, 30));
  await page.settled();
  return true;
}

async function watch(page) {
  const { page: raw, faults, open } = page;
  const isAnswer = (url) => /\/api\//.test(url) && !/\/api\/events/.test(url);
  const host = new URL(page.address).host;
  raw.on("console", (message) => {
    if (message.type() === "error" || message.type() === "warning") {
      faults.push(`console: ${message.text()}`);
    }
  });
  raw.on("pageerror", (error) => faults.push(`error: ${error.message}`));
  raw.on("dialog", (dialog) => {
    faults.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  raw.on("request", (request) => {
    const url = new URL(request.url());
    const isOwn = url.protocol === "blob:" || url.protocol === "data:" || (url.host === host && url.protocol !== "file:") || request.url().split("#")[0] === page.address.split("#")[0];
    if (!isOwn) {
      faults.push(`request: ${request.url()}`);
    }
    if (isAnswer(request.url())) {
      open.add(request);
    }
  });
  raw.on("requestfinished", (request) => open.delete(request));
  raw.on("requestfailed", (request) => open.delete(request));
  // A breach of the policy is an event, also where the console says nothing.
  await raw.exposeFunction("profundoTold", (text) => faults.push(text));
  await raw.addInitScript(() => {
    addEventListener("securitypolicyviolation", (event) => {
      window.profundoTold(`policy: ${event.violatedDirective} ${event.blockedURI} ${event.sample}`);
    });
  });
  await own(raw);
}

/** `PROFUNDO_PAGE=ui/dist/page.html` shows this page in place of the one in the command. */
async function own(raw) {
  const file = process.env.PROFUNDO_PAGE;
  if (file === undefined) {
    return;
  }
  await raw.route(/^http:[^?#]*\/[0-9a-f]{40}\/$/, async (route) => {
    const response = await route.fetch();
    await route.fulfill({ response, body: inPlaceOf(await response.text(), file) });
  });
}

/** Another page, with the policy and the answers of the one that the command made. */
function inPlaceOf(text, file) {
  const policy = /http-equiv="Content-Security-Policy" content="([^"]*)"/.exec(text)[1];
  const answers = /<script type="[^"]*" id="answers">(.*?)<\/script>/s.exec(text)[1];
  return readFileSync(file, "utf8")
    .replace("@policy@", () => policy)
    .replaceAll("@nonce@", /nonce-([0-9a-f]+)/.exec(policy)[1])
    .replace("@answers@", () => answers);
}

/** Writes the page of a recording as a file, for people without a server; its address. */
export function offline(recording, out) {
  profundo(["view", recording, "-o", out, "--force"]);
  if (process.env.PROFUNDO_PAGE !== undefined) {
    writeFileSync(out, inPlaceOf(readFileSync(out, "utf8"), process.env.PROFUNDO_PAGE));
  }
  return `file://${out}`;
}
