// The tests' own eyes: each kind of fault that fails a test is made on purpose, and must be seen.

import assert from "node:assert/strict";
import { test } from "node:test";

import { checkText, compare } from "./harness/numbers.mjs";
import { needsBrowser, openRecording } from "./harness/page.mjs";
import { recording } from "./harness/recordings.mjs";

const FAULTS = [
  ["an error on the console", () => console.error("made"), /console: made/],
  ["an error that nobody catches", () => void setTimeout(() => Promise.reject(new Error("made"))), /error: made/],
  ["a dialog", () => void setTimeout(() => alert("made")), /dialog: made/],
  ["a picture of another host", () => void (new Image().src = "http://127.0.0.2:9/x.png"), /policy: img-src/],
  ["a question to another host", () => void fetch("http://127.0.0.2:9/").catch(() => {}), /policy: connect-src/],
  ["a script within the page", () => void document.body.insertAdjacentHTML("beforeend", "<img src=x onerror=hacked=1>"), /policy: (script|img)-src/],
  ["a style within the page", () => void document.body.insertAdjacentHTML("beforeend", '<p style="color:red">'), /policy: style-src/],
];

for (const [name, make, pattern] of FAULTS) {
  test(`the tests see ${name}`, needsBrowser, async () => {
    const page = await openRecording(recording("cpu"));
    try {
      await page.page.evaluate(make);
      for (let tries = 0; tries < 100 && !page.faults.some((fault) => pattern.test(fault)); tries++) {
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
      assert.match(page.faults.join("\n"), pattern);
      assert.throws(() => page.check());
    } finally {
      await page.context.close();
    }
  });
}

test("the tests see a number that is wrong, and a text that says another one", () => {
  const number = { table: "functions", row: "f", is: "self_share", number: 0.5, text: "50.0 %", column: "Self" };
  const rows = (share) => ({ functions: [["f", { self_share: share }]] });
  compare([number], rows(0.5), "right");
  assert.throws(() => compare([number], rows(0.501), "another number"), /the command 0.501/);
  assert.throws(() => compare([{ ...number, text: "50.1 %" }], rows(0.5), "another text"));
  assert.throws(() => compare([{ ...number, column: "Total" }], rows(0.5), "another column"), /below/);
  assert.throws(() => compare([{ ...number, row: "g" }], rows(0.5), "no row"), /no such row/);
  assert.throws(() => compare([{ ...number, table: "lines" }], rows(0.5), "no table"), /no such table/);
  for (const [value, text] of [[0.0832, "83.2 ms"], [1.224, "1.22 s"], [65.2, "1 min 05 s"], [0, "0 s"]]) {
    checkText(value, text, "seconds");
    assert.throws(() => checkText(value * 1.01 + 1, text, "seconds"));
  }
  checkText(0.0002, "<0.1 %", "share");
  checkText(1234567, "1\u202f234\u202f567", "samples");
  checkText(1.5e6, "1.50 MB", "self_bytes");
  assert.throws(() => checkText(1.5e6, "1.50 s", "self_bytes"), /another unit/);
});
