// The colours of pictures, taken from the sources of the page, and the contrast between two colours
// as WCAG defines it.

import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

import * as esbuild from "esbuild";

const CANVAS = join(dirname(fileURLToPath(import.meta.url)), "..", "..", "src", "canvas");

/** All fills of boxes with words on them, and the inks of these words. */
export async function fillsOf() {
  const contents = `
    export { EVERY_FILL } from "./colours";
    export { EVERY_CHANGE } from "./changes";
    export { INKS, PALE, PALE_WORDS } from "./theme";`;
  const built = await esbuild.build({ stdin: { contents, resolveDir: CANVAS, loader: "ts" }, bundle: true, write: false, format: "esm" });
  const found = await import(`data:text/javascript,${encodeURIComponent(built.outputFiles[0].text)}`);
  return { fills: [...found.EVERY_FILL, ...found.EVERY_CHANGE], inks: found.INKS, pale: found.PALE, paleWords: found.PALE_WORDS };
}

/** A colour's parts: red, green, blue, and how much of it covers what is below. */
export function rgb(text) {
  if (text.startsWith("#")) {
    const long = text.length === 4 ? text.replace(/[0-9a-f]/gi, "$&$&") : text;
    return [...[1, 3, 5].map((at) => parseInt(long.slice(at, at + 2), 16)), 1];
  }
  const parts = text.match(/[\d.]+/g).map(Number);
  return [...parts.slice(0, 3), parts[3] ?? 1];
}

/** A colour over another one. */
export function over([red, green, blue, alpha], below) {
  return [red, green, blue].map((part, at) => part * alpha + below[at] * (1 - alpha));
}

/** The relative luminance of a colour. */
export function luminance([red, green, blue]) {
  const linear = (part) => (part / 255 <= 0.04045 ? part / 255 / 12.92 : ((part / 255 + 0.055) / 1.055) ** 2.4);
  return 0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue);
}

/** From 1, for the same colour, to 21. */
export function contrast(one, other) {
  const [low, high] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (high + 0.05) / (low + 0.05);
}
