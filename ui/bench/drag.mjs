// The time of drawing while a flame graph of 100 000 boxes is dragged for two seconds, for a quiet
// machine: `node bench/drag.mjs [BOXES]`. 95 of 100 frames should be drawn within 12 ms.

import { close, openRecording } from "../test/harness/page.mjs";
import { recording } from "../test/harness/recordings.mjs";

const BOXES = Number(process.argv[2] ?? 100_000);
const MOST = 12;

const page = await openRecording(recording("cpu"), { hash: "#flame", width: 1600, height: 1000 });
const made = await page.page.evaluate((most) => {
  const canvas = document.querySelector("main canvas");
  const { drawing } = canvas;
  // Calls that divide their weight among some callees, level by level, with the rest their own.
  let state = 88172645;
  const below = (bound) => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) % bound;
  };
  const [level, weight, start, parent, row] = [[0], [1e12], [0], [-1], [-1]];
  for (let at = 0; level.length < most && at < level.length; at++) {
    const count = 1 + below(4);
    const all = weight[at] * 0.97;
    let left = start[at];
    for (let part = 0; part < count && level.length < most; part++) {
      level.push(level[at] + 1);
      weight.push(all / count);
      start.push(left);
      parent.push(at);
      row.push(below(2000));
      left += all / count;
    }
  }
  const names = Array.from({ length: 2000 }, (_, number) => `service::area_${number % 40}::Worker::step_${number}`);
  const rows = [];
  level.forEach((value, at) => (rows[value] ??= []).push(at));
  const zeros = level.map(() => 0);
  drawing.fills = level.map((_, at) => ["#7ea9f4", "#ffbe55", "#b6a4bd"][at % 3]);
  drawing.found = new Uint8Array(0);
  drawing.show({
    flame: { unit: "time", total: 1e12, functions: { name: names, file: names.map(() => "/src/worker.rs"), kind: [], package: [] } },
    boxes: { function: row, level, weight, own: zeros, count: zeros, line: zeros, last_line: zeros, path: zeros },
    start: Float64Array.from(start),
    extent: Float64Array.from(weight),
    parent: Int32Array.from(parent),
    rows: rows.map((list) => Int32Array.from(list)),
    width: 1e12,
  });
  return { boxes: level.length, levels: rows.length };
}, BOXES);

/** Drags for two seconds, a step with each frame of the screen, from a zoom; the frames' times. */
const frames = (zoom) =>
  page.page.evaluate(
    (zoom) =>
      new Promise((resolve) => {
        const { drawing } = document.querySelector("main canvas");
        [drawing.from, drawing.to] = [0, drawing.picture.width / zoom];
        const times = [];
        const began = performance.now();
        const step = () => {
          const passed = performance.now() - began;
          if (passed > 0) {
            times.push(drawing.lastFrame);
          }
          if (passed > 2000) {
            resolve(times.slice(2));
            return;
          }
          drawing.pan(-9 * Math.sin(passed / 300), -3 * Math.cos(passed / 200));
          requestAnimationFrame(step);
        };
        requestAnimationFrame(step);
      }),
    zoom,
  );

console.log(`${made.boxes} boxes on ${made.levels} levels`);
for (const zoom of [1, 4, 64]) {
  const times = (await frames(zoom)).sort((a, b) => a - b);
  const at = (share) => times[Math.min(times.length - 1, Math.floor(share * times.length))].toFixed(1);
  const verdict = Number(at(0.95)) <= MOST ? "as wanted" : `more than ${MOST} ms`;
  console.log(`${String(zoom).padStart(3)}× zoom: ${times.length} frames, median ${at(0.5)} ms, 95 % within ${at(0.95)} ms, most ${at(1)} ms: ${verdict}`);
}
await page.context.close();
await close();
