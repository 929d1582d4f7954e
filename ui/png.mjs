// A smaller PNG of the same picture: at most 256 colours, in a palette. Screens of a page have few
// colours, but for the edges of letters, where the nearest one does.

import { crc32, deflateSync, inflateSync } from "node:zlib";

const SIGNATURE = Buffer.from([137, 80, 78, 71, 13, 10, 26, 10]);
const MOST = 256;

/** The PNG with a palette; or itself, if it is of a kind that a screenshot never is. */
export function smaller(png) {
  const { width, height, channels, rows } = decoded(png);
  const { palette, numberOf } = paletteOf(rows, channels);
  const lines = Buffer.alloc(height * (width + 1));
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      lines[y * (width + 1) + 1 + x] = numberOf(colourAt(rows, (y * width + x) * channels));
    }
  }
  const head = Buffer.alloc(13);
  head.writeUInt32BE(width, 0);
  head.writeUInt32BE(height, 4);
  head.set([8, 3, 0, 0, 0], 8);
  const colours = Buffer.from(palette.flatMap((colour) => [colour >> 16, (colour >> 8) & 255, colour & 255]));
  const parts = [chunk("IHDR", head), chunk("PLTE", colours), chunk("IDAT", deflateSync(lines, { level: 9 })), chunk("IEND", Buffer.alloc(0))];
  return Buffer.concat([SIGNATURE, ...parts]);
}

const colourAt = (rows, at) => (rows[at] << 16) | (rows[at + 1] << 8) | rows[at + 2];

function chunk(name, data) {
  const body = Buffer.concat([Buffer.from(name, "latin1"), data]);
  const whole = Buffer.alloc(body.length + 8);
  whole.writeUInt32BE(data.length, 0);
  whole.set(body, 4);
  whole.writeUInt32BE(crc32(body), body.length + 4);
  return whole;
}

/** The bytes of a PNG's pixels, row by row. */
export function decoded(png) {
  let at = 8;
  let head;
  const data = [];
  while (at < png.length) {
    const length = png.readUInt32BE(at);
    const name = png.toString("latin1", at + 4, at + 8);
    const body = png.subarray(at + 8, at + 8 + length);
    head = name === "IHDR" ? body : head;
    if (name === "IDAT") {
      data.push(body);
    }
    at += length + 12;
  }
  const [width, height, channels] = [head.readUInt32BE(0), head.readUInt32BE(4), head[9] === 6 ? 4 : 3];
  if (head[8] !== 8 || ![2, 6].includes(head[9]) || head[12] !== 0) {
    throw new Error("the PNG is not of 8-bit colours");
  }
  const filtered = inflateSync(Buffer.concat(data));
  const size = width * channels;
  const rows = Buffer.alloc(height * size);
  for (let y = 0; y < height; y++) {
    const filter = filtered[y * (size + 1)];
    for (let x = 0; x < size; x++) {
      const left = x < channels ? 0 : rows[y * size + x - channels];
      const above = y === 0 ? 0 : rows[(y - 1) * size + x];
      const corner = x < channels || y === 0 ? 0 : rows[(y - 1) * size + x - channels];
      const guess = [0, left, above, (left + above) >> 1, nearest(left, above, corner)][filter];
      rows[y * size + x] = filtered[y * (size + 1) + 1 + x] + guess;
    }
  }
  return { width, height, channels, rows };
}

/** PNG's guess of a byte from its three neighbours: Paeth's. */
function nearest(left, above, corner) {
  const sum = left + above - corner;
  const [a, b, c] = [Math.abs(sum - left), Math.abs(sum - above), Math.abs(sum - corner)];
  return a <= b && a <= c ? left : b <= c ? above : corner;
}

/** The colours that occur most, far enough from each other, and the number of the nearest one. */
function paletteOf(rows, channels) {
  const times = new Map();
  for (let at = 0; at < rows.length; at += channels) {
    const colour = colourAt(rows, at);
    times.set(colour, (times.get(colour) ?? 0) + 1);
  }
  const byTimes = [...times].sort(([a, m], [b, n]) => n - m || a - b).map(([colour]) => colour);
  let palette = byTimes;
  for (let least = 0; palette.length > MOST; least = 2 * least + 1) {
    const kept = [];
    for (const colour of byTimes) {
      if (kept.length <= MOST && kept.every((other) => distance(other, colour) > least)) {
        kept.push(colour);
      }
    }
    palette = kept;
  }
  const numbers = new Map();
  const numberOf = (colour) => {
    let found = numbers.get(colour);
    if (found === undefined) {
      const distances = palette.map((other) => distance(other, colour));
      found = distances.indexOf(Math.min(...distances));
      numbers.set(colour, found);
    }
    return found;
  };
  return { palette, numberOf };
}

function distance(a, b) {
  const [red, green, blue] = [(a >> 16) - (b >> 16), ((a >> 8) & 255) - ((b >> 8) & 255), (a & 255) - (b & 255)];
  return red * red + green * green + blue * blue;
}
