// Boxes that can be seen, as SVG: the elements are used again from one drawing to the next.
const ROW = 17, MARGIN = 3, THIN = 4, AXIS = 20, LABEL = 20, GAP = 10;
// More elements than these take too long to draw; narrower boxes wait for a zoom.
const MOST = 1500, LEAST = data.timed ? 0.5 : 1;
const group = find('.boxes');
const title = find('svg>title');
let flipped = data.icicle, zoomed = -1, look = 0, pattern = null, chosen = -1, chosenLane = null;
let hits = new Uint8Array(0), glyph = 7.3, width = 1200, top = 0, drawn = [];

const element = (name, attributes, words) => {
  const node = document.createElementNS(NS, name);
  for (const key in attributes) node.setAttribute(key, attributes[key]);
  if (words !== undefined) node.textContent = words;
  return node;
};

group.textContent = '';
svg.removeAttribute('viewBox');
svg.setAttribute('width', '100%');
svg.classList.add('live');
// The browser would show it as a tooltip over everything.
const wholeTitle = title ? title.textContent : '';
document.title = wholeTitle;
if (title) title.remove();
(() => {
  const probe = element('text', { y: -100 }, 'M'.repeat(50));
  svg.appendChild(probe);
  glyph = probe.getComputedTextLength() / 50 || glyph;
  probe.remove();
})();
const under = element('g'), rest = element('path', { class: 'rest' }), over = element('g');
group.append(under, rest, over);
const pool = [];

const isInside = (index) => zoomed < 0 || (index >= zoomed && index < end[zoomed]);
const isAbove = (index) => zoomed >= 0 && index < zoomed && end[index] > zoomed;

// The left edge of a lane and its width, in its own unit.
function range(lane) {
  if (zoomed < 0) return [0, data.span];
  if (data.timed) return [after.x[zoomed], after.w[zoomed]];
  const places = placesOf(lane);
  let at = zoomed;
  while (places.w[at] === 0 && parent[at] >= 0) at = parent[at];
  return [places.x[at], before ? Math.max(before.w[zoomed], after.w[zoomed]) : after.w[zoomed]];
}

// The boxes of a lane that are at least so wide, and the others as one path.
function collect(lane, place, least, boxes, narrow) {
  const places = placesOf(lane), [left, across] = range(lane), scale = width / (across || 1);
  let restFrom = -1, restTo = -1, restRow = -1;
  const flush = () => {
    if (restRow >= 0) narrow.push(`M${restFrom.toFixed(1)} ${restRow}h${Math.max(0.5, restTo - restFrom).toFixed(1)}v16H${restFrom.toFixed(1)}z`);
    restRow = -1;
  };
  for (let at = lane.from; at < lane.to;) {
    const above = !data.timed && isAbove(at);
    if (!data.timed && !above && !isInside(at)) {
      at = at < zoomed ? Math.min(end[at], zoomed) : lane.to;
      continue;
    }
    let x = (places.x[at] - left) * scale, w = places.w[at] * scale;
    if (above) [x, w] = [0, width];
    const from = Math.max(0, x), to = Math.min(width, x + w);
    if (to <= from) {
      at = end[at];
      continue;
    }
    if (rowOf[at] < 0) {
      at++;
      continue;
    }
    const row = flipped ? rowOf[at] : lane.rows - 1 - rowOf[at], y = place + row * ROW;
    if (to - from < least) {
      if (y !== restRow || from > restTo + 1) {
        flush();
        [restFrom, restRow] = [from, y];
      }
      restTo = to;
      at = end[at];
      continue;
    }
    boxes.push({ at, lane, x: from, y, w: to - from, above: above || (data.timed && isAbove(at)) });
    at++;
  }
  flush();
}

function classOf(box) {
  const { at } = box;
  const [, letter, , classes] = data.looks[look];
  const row = classes ? classes.charCodeAt(frame[at]) - 48 : change[at];
  let name = `b ${letter}${row}`;
  if (strips[at]) name += ' strip';
  if (box.w < THIN) name += ' thin';
  if (box.above) name += ' above';
  if (pattern && hits[frame[at]]) name += ' hit';
  if (at === chosen && box.lane === chosenLane) name += ' chosen';
  return name;
}

function put(entry, name, value, key) {
  if (entry[key] !== value) {
    entry[key] = value;
    entry[name].setAttribute(key.replace(/^[rt]/, ''), value);
  }
}

function paint(box, number) {
  let entry = pool[number];
  if (!entry) {
    const g = element('g'), r = element('rect', { height: 16 });
    g.appendChild(r);
    over.appendChild(g);
    entry = pool[number] = { g, r, t: null, shown: true };
  }
  if (!entry.shown) {
    entry.g.style.display = '';
    entry.shown = true;
  }
  entry.g.box = box;
  entry.box = box;
  const words = wordsOf(box.at);
  const name = classOf(box);
  if (entry.name !== name) {
    entry.name = name;
    entry.g.setAttribute('class', name);
  }
  if (entry.label !== words) {
    entry.label = words;
    entry.g.setAttribute('aria-label', words);
  }
  put(entry, 'r', box.x.toFixed(2), 'rx');
  put(entry, 'r', box.w.toFixed(2), 'rwidth');
  put(entry, 'r', box.y, 'ry');
  const label = fit(words, Math.floor((box.w - 2 * MARGIN) / glyph));
  if (!label && !entry.t) return;
  if (!entry.t) {
    entry.t = element('text');
    entry.g.appendChild(entry.t);
  }
  if (entry.words !== label) {
    entry.words = label;
    entry.t.textContent = label;
  }
  if (!label) return;
  put(entry, 't', (box.x + MARGIN).toFixed(2), 'tx');
  put(entry, 't', box.y + 12, 'ty');
}

function roundStep(step) {
  const power = 10 ** Math.floor(Math.log10(Math.max(1, step)));
  return [1, 2, 5, 10].map((digit) => digit * power).find((round) => round >= step) || 10 * power;
}

// Lanes' labels, and the time axis with ticks at round times.
function paintUnder(places, bottom) {
  under.textContent = '';
  if (data.timed) {
    const [left, across] = range(lanes[0] || {}), from = left + data.origin;
    const step = roundStep(across / Math.max(2, Math.floor(width / 110)));
    for (let tick = Math.ceil(from / step) * step; tick <= from + across; tick += step) {
      const x = ((tick - from) / (across || 1) * width).toFixed(1);
      under.append(
        element('line', { x1: x, x2: x, y1: top, y2: bottom, class: 'line-of-tick' }),
        element('text', { x: +x + 3, y: top + 12, class: 'faint' }, tickWords(tick, step)),
      );
    }
  }
  lanes.forEach((lane, number) => {
    if (lane.label) under.append(element('text', { x: 8, y: places[number] - 6, class: 'lane' }, cut(lane.label, Math.floor((width - 16) / glyph))));
  });
}

function tickWords(tick, step) {
  if (tick < 1) return '0';
  const [unit, name] = step >= 1e8 ? [1e9, 's'] : step >= 1e5 ? [1e6, 'ms'] : [1e3, 'µs'];
  const digits = Math.max(0, -Math.floor(Math.log10(step / unit) + 1e-9));
  return `${(tick / unit).toFixed(digits)} ${name}`;
}

function draw() {
  width = svg.getBoundingClientRect().width || 1200;
  top = arrangeHead();
  const axis = data.timed ? AXIS : 0;
  let y = top + axis;
  const places = lanes.map((lane) => {
    const place = y + (lane.label ? LABEL : 0);
    y = place + lane.rows * ROW + GAP;
    return place;
  });
  const bottom = y;
  svg.setAttribute('height', bottom);
  let least = LEAST, narrow;
  do {
    drawn = [];
    narrow = [];
    lanes.forEach((lane, number) => collect(lane, places[number], least, drawn, narrow));
    least *= 2;
  } while (drawn.length > MOST);
  paintUnder(places, bottom);
  rest.setAttribute('d', narrow.join(''));
  drawn.forEach(paint);
  for (let number = drawn.length; number < pool.length; number++) {
    if (!pool[number].shown) continue;
    pool[number].shown = false;
    pool[number].g.style.display = 'none';
  }
}

// After a change that moves no box.
function recolour() {
  for (const entry of pool) {
    if (!entry.shown) continue;
    const name = classOf(entry.box);
    if (entry.name !== name) {
      entry.name = name;
      entry.g.setAttribute('class', name);
    }
  }
}
