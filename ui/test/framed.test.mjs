// The page in the cell of a notebook: in a frame that may run scripts and nothing else, it begins
// where it is told to, and has the name that it is given. Beside it, what only a picture shows: the
// track of a native program is drawn, and the chosen tab is on a phone's screen.

import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

import { needsBrowser, offline, open, withPage } from "./harness/page.mjs";
import { FOLDER, recording } from "./harness/recordings.mjs";

const TITLE = 'In [1] "<b>x</b>"';

/** A document with a page in a frame, as a notebook has it. */
function notebook(name, metas) {
  const file = fileURLToPath(offline(recording(name), join(FOLDER, "framed.html")));
  const page = readFileSync(file, "utf8").replace("<title>", `${metas}<title>`);
  const quoted = page.replaceAll("&", "&amp;").replaceAll('"', "&quot;");
  const out = join(FOLDER, "notebook.html");
  writeFileSync(out, `<!doctype html><main></main><iframe srcdoc="${quoted}" sandbox="allow-scripts" style="width:100%;height:700px"></iframe>`);
  return `file://${out}`;
}

const meta = (name, content) => `<meta name="profundo-${name}" content="${content.replaceAll("&", "&amp;").replaceAll('"', "&quot;")}">`;

test("a frame begins at its place, with its title, and asks for nothing", needsBrowser, async () => {
  const page = await open(notebook("cpu", meta("title", TITLE) + meta("place", "functions?search=parse")));
  const frame = page.page.frameLocator("iframe");
  await frame.locator('nav.views a[aria-current="page"]', { hasText: "Functions" }).waitFor();
  assert.equal((await frame.locator(".command").textContent()).trim(), TITLE);
  assert.equal(await frame.locator(".command b").count(), 0);
  await frame.getByRole("link", { name: "Flame" }).click();
  await frame.locator("main.view-flame canvas").first().waitFor();
  await page.close();
});

test("a frame without a place begins with the overview", needsBrowser, async () => {
  const page = await open(notebook("cpu", ""));
  await page.page.frameLocator("iframe").locator("main.view-overview .facts").waitFor();
  await page.close();
});

test("the track of a program without Python is drawn", needsBrowser, () =>
  withPage(recording("native"), {}, async (page) => {
    const drawn = await page.page.evaluate(() => {
      const canvas = document.querySelector(".time-track canvas.strip");
      const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
      return data.filter((value, at) => at % 4 === 3 && value > 0).length;
    });
    assert.ok(drawn > 100, `${drawn} pixels are drawn`);
  }),
);

test("the chosen tab is on the screen of a phone", needsBrowser, () =>
  withPage(recording("cpu"), { width: 390, height: 844 }, async (page) => {
    for (const name of ["square", "overview", "heatmap"]) {
      await page.go(`#${name}`);
      const { left, right } = await page.page.evaluate(() => {
        const { left, right } = document.querySelector("nav.views a[aria-current]").getBoundingClientRect();
        return { left, right };
      });
      assert.ok(left >= -1 && right <= 391, `${name}: ${left} to ${right}`);
    }
  }),
);
