// The ring of the focus as it is seen: the pixels that it changes, with enough contrast to what is
// there without it.

import { decoded } from "../../png.mjs";
import { contrast } from "./colours.mjs";

const AROUND = 5;

/**
 * The ring of what has the focus: `pixels` that it changes with a contrast of 3, and how many a line of
 * one pixel would have (`outline`). A kind of element that is in `seen` is not looked at again.
 * Nothing, if nothing has the focus, or if Tab has come around.
 */
export async function ring(page, seen) {
  const at = await page.evaluate(() => {
    const element = document.activeElement;
    if (element === null || element === document.body || element.closest("header") !== null) {
      return undefined;
    }
    const kind = (one) => `${one.tagName.toLowerCase()}.${one.getAttribute("class") ?? ""}`;
    const { x, y, width, height } = element.getBoundingClientRect();
    return { what: `${kind(element)} in ${kind(element.parentElement)}`, x, y, width, height };
  });
  if (at === undefined) {
    return undefined;
  }
  if (seen.has(at.what)) {
    return { isNew: false };
  }
  seen.add(at.what);
  const { width, height } = page.viewportSize();
  const [left, top] = [Math.max(0, at.x - AROUND), Math.max(0, at.y - AROUND)];
  const clip = { x: left, y: top, width: Math.min(width, at.x + at.width + AROUND) - left, height: Math.min(height, at.y + at.height + AROUND) - top };
  const outline = Math.round(2 * (clip.width + clip.height - 4 * AROUND));
  if (clip.width <= 0 || clip.height <= 0) {
    return { isNew: true, what: `${at.what}, off the screen,`, pixels: 0, outline };
  }
  const before = decoded(await page.screenshot({ clip }));
  await page.evaluate(() => {
    const sheet = new CSSStyleSheet();
    sheet.replaceSync("* { outline: none !important }");
    document.adoptedStyleSheets = [sheet];
  });
  const after = decoded(await page.screenshot({ clip }));
  await page.evaluate(() => {
    document.adoptedStyleSheets = [];
  });
  let pixels = 0;
  for (let from = 0; from < before.rows.length; from += before.channels) {
    const [one, other] = [before.rows.subarray(from, from + 3), after.rows.subarray(from, from + 3)];
    pixels += contrast(one, other) >= 3 ? 1 : 0;
  }
  return { isNew: true, what: at.what, pixels, outline };
}
