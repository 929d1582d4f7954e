// The boxes, from the data of the picture. Its writer (`encode.rs`) describes the numbers.
const NS = 'http://www.w3.org/2000/svg';
const svg = (document.currentScript && document.currentScript.ownerSVGElement) || document.documentElement;
const find = (name) => svg.querySelector(name);
const pause = () => new Promise((go) => setTimeout(go));
await pause();
const data = JSON.parse(find('.data').textContent);
const lanes = data.lanes.map(([from, to, isBefore, foldsBelow, label]) => ({ from, to, isBefore, foldsBelow, label }));
const size = lanes.reduce((most, lane) => Math.max(most, lane.to), 0);

const level = new Uint32Array(size), frame = new Uint32Array(size), count = new Float64Array(size);
const parent = new Int32Array(size).fill(-1), end = new Uint32Array(size);
const weight = new Float64Array(size), own = new Float64Array(size), change = new Uint8Array(size);
// Places after, or the only ones, and places before.
const after = { x: new Float64Array(size), w: new Float64Array(size), own };
const before = data.compared
  ? { x: new Float64Array(size), w: new Float64Array(size), own: new Float64Array(size) } : null;
const placesOf = (lane) => (lane.isBefore ? before : after);

await pause();
await (async () => {
  const text = atob(data.nodes);
  let at = 0;
  const number = () => {
    let sum = 0, unit = 1, byte;
    do {
      byte = text.charCodeAt(at++);
      sum += (byte & 127) * unit;
      unit *= 128;
    } while (byte & 128);
    return sum;
  };
  const ownOf = (code, all) => (code === 0 ? all : (code - 1) * data.part);
  // The ends of the path to the box before, in parts, by level; and the path.
  const nexts = [[], []], path = [];
  const place = (next, depth, places, index) => {
    if (depth === 0) next[0] = 0;
    const start = next[depth] + number(), width = number();
    next[depth] = start + width;
    next[depth + 1] = start;
    places.x[index] = start * data.scale;
    places.w[index] = width * data.scale;
  };
  let below = 0;
  for (let index = 0; index < size; index++) {
    if (index % 10000 === 9999) await pause();
    const depth = below - number();
    level[index] = depth;
    frame[index] = number();
    place(nexts[0], depth, after, index);
    const ownCode = number();
    count[index] = number();
    weight[index] = data.timed ? number() * data.part : after.w[index];
    own[index] = ownOf(ownCode, weight[index]);
    if (before) {
      place(nexts[1], depth, before, index);
      before.own[index] = ownOf(number(), before.w[index]);
      change[index] = number();
    }
    for (let open = path.length - 1; open >= depth; open--) end[path[open]] = index;
    path.length = depth;
    if (depth > 0) parent[index] = path[depth - 1];
    path.push(index);
    below = depth + 1;
  }
  for (const open of path) end[open] = size;
})();

await pause();

const nameOf = (index) => data.names[data.frames[4 * frame[index]]];
const fileOf = (index) => data.files[data.frames[4 * frame[index] + 1]];
function placeOf(index) {
  const file = fileOf(index), first = data.frames[4 * frame[index] + 2], last = data.frames[4 * frame[index] + 3];
  if (!file || !first) return file;
  return first === last ? `${file}:${first}` : `${file}:${first}–${last}`;
}

// Long runs of calls with one amount are strips, until they are opened: the rows of all boxes.
const rowOf = new Int32Array(size), strips = new Uint32Array(size), opened = new Set();
let folds = true;
const passesOn = (at) => level[at + 1] === level[at] + 1 && after.w[at + 1] === after.w[at]
  && weight[at + 1] === weight[at] && (!before || before.w[at + 1] === before.w[at])
  && (after.w[at] > 0 || (!!before && before.w[at] > 0));
function arrange() {
  strips.fill(0);
  for (const lane of lanes) {
    const path = [];
    lane.rows = 1;
    for (let at = lane.from; at < lane.to; at++) {
      const row = level[at] === 0 ? 0 : path[level[at] - 1] + 1;
      rowOf[at] = row;
      path.length = level[at];
      path.push(row);
      lane.rows = Math.max(lane.rows, row + 1);
      if (!folds) continue;
      let last = at;
      while (last + 1 < lane.to && level[last + 1] < lane.foldsBelow && passesOn(last)) last++;
      const run = last - at + 1;
      if (run < data.folded + 2 || opened.has(at + 1)) {
        // The calls of an opened run are not folded again from the next one on.
        if (run >= data.folded + 2) {
          for (let next = at + 1; next < last; next++) {
            rowOf[next] = path[path.length - 1] + 1;
            path.push(rowOf[next]);
          }
          lane.rows = Math.max(lane.rows, path[path.length - 1] + 1);
          at = last - 1;
        }
        continue;
      }
      strips[at + 1] = run - 2;
      for (let next = at + 1; next < last; next++) {
        rowOf[next] = next === at + 1 ? row + 1 : -1;
        path.push(row + 1);
      }
      lane.rows = Math.max(lane.rows, row + 2);
      at = last - 1;
    }
  }
}
arrange();
