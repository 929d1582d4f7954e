// The page that is committed is what its sources make, its types hold, and it is small.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { gzipSync } from "node:zlib";

import { ROOT } from "./harness/command.mjs";
import { serve } from "./harness/page.mjs";
import { FOLDER, recording } from "./harness/recordings.mjs";

const UI = join(ROOT, "ui");
const PAGE = join(UI, "dist", "page.html");

/** The most bytes of the page, compressed as a server would. */
const MOST = 200_000;

test("the committed page is what its sources make, byte for byte", () => {
  const types = join(UI, "src", "reports.ts");
  const before = readFileSync(types, "utf8");
  mkdirSync(FOLDER, { recursive: true });
  const built = join(FOLDER, "page.html");
  execFileSync("node", [join(UI, "build.mjs"), built], { stdio: ["ignore", "ignore", "inherit"] });
  assert.ok(readFileSync(types, "utf8") === before, "ui/src/reports.ts is not what docs/json.md says: run `node build.mjs`");
  assert.ok(readFileSync(built).equals(readFileSync(PAGE)), "ui/dist/page.html is not what ui/src makes: run `node build.mjs`");
});

test("the types of the page hold", () => {
  execFileSync(join(UI, "node_modules", ".bin", "tsc"), ["--noEmit"], { cwd: UI, stdio: ["ignore", "inherit", "inherit"] });
});

test("the page is at most 200 kB, compressed", () => {
  const { length } = gzipSync(readFileSync(PAGE));
  assert.ok(length <= MOST, `${length} bytes`);
});

const own = process.env.PROFUNDO_PAGE === undefined ? {} : { skip: "PROFUNDO_PAGE names another page" };
test("the command serves this page", own, async () => {
  const { url } = await serve(recording("cpu"));
  const response = await fetch(url);
  const policy = response.headers.get("content-security-policy");
  const nonce = /'nonce-([0-9a-f]+)'/.exec(policy)[1];
  const expected = readFileSync(PAGE, "utf8")
    .replace("@policy@", policy.replace("; frame-ancestors 'none'", ""))
    .replaceAll("@nonce@", nonce)
    .replace("@answers@", "");
  assert.ok((await response.text()) === expected, "the command was built with another ui/dist/page.html");
});
