(() => {
'use strict';
// A box is as wide as its share, in per cent; zooming and resizing only change what 100 % is.
const ROW = 17, MORE = 3, THIN = 4;
const svg = (document.currentScript && document.currentScript.ownerSVGElement) || document.documentElement;
const top = +svg.dataset.top, levels = +svg.dataset.levels;
const find = (name) => svg.querySelector(name);
const head = find('.head'), details = find('.details'), matched = find('.matched'), field = find('input');
const resetButton = find('.reset'), hint = details.textContent;
let flipped = svg.dataset.inverted === '1', zoomed = 0, pattern = null;

const boxes = Array.from(svg.querySelectorAll('.b'), (node, index) => {
  const rect = node.querySelector('rect');
  const [name, place, ...shares] = node.querySelector('title').textContent.split('\n');
  const y = +rect.getAttribute('y') - top;
  node.dataset.i = index;
  return {
    node, rect, text: node.querySelector('text'), name, place, shares,
    x: parseFloat(rect.getAttribute('x')), w: parseFloat(rect.getAttribute('width')),
    level: Math.round(flipped ? y / ROW : levels - 1 - y / ROW), hit: false,
  };
});

// Callers stand before what they call, so what a box called is the run of deeper boxes after it.
boxes.forEach((box, index) => {
  let end = index + 1;
  while (end < boxes.length && boxes[end].level > box.level) end++;
  box.end = end;
});

svg.setAttribute('width', '100%');
svg.classList.add('live');

const sample = details.textContent;
details.textContent = 'M'.repeat(50);
let glyph = details.getComputedTextLength() / 50 || 7.3;
details.textContent = sample;

// The longest tail of a::b::c that fits, else as much of the name as does.
function fit(name, room) {
  if (name.length <= room) return name;
  let depth = 0, rest = name;
  for (let at = 0; at + 2 < name.length; at++) {
    const c = name[at];
    if (c === '<') depth++;
    else if (c === '>' && name[at - 1] !== '-') depth--;
    else if (c === ':' && name[at + 1] === ':' && depth === 0) {
      rest = name.slice(at + 2);
      if (rest.length <= room) return rest;
      at++;
    }
  }
  return room < 3 ? '' : rest.slice(0, room - 1) + '…';
}

function label(box, width) {
  const words = fit(box.name, Math.floor((width - 2 * MORE) / glyph));
  if (!words) {
    if (box.text) box.text.textContent = '';
    return null;
  }
  if (!box.text) {
    box.text = document.createElementNS('http://www.w3.org/2000/svg', 'text');
    box.text.setAttribute('dx', MORE);
    box.node.appendChild(box.text);
  }
  if (box.text.textContent !== words) {
    box.text.textContent = words;
    // Wide letters: take off what hangs over.
    if (/[^\x20-\x7e…–]/.test(words)) {
      let shown = words;
      while (shown.length > 1 && box.text.getComputedTextLength() > width - MORE) {
        shown = shown.slice(0, -2) + '…';
        box.text.textContent = shown;
      }
    }
  }
  return box.text;
}

function draw() {
  const all = svg.getBoundingClientRect().width || 1200;
  const zoom = boxes[zoomed];
  boxes.forEach((box, index) => {
    const inside = index >= zoomed && index < zoom.end;
    const above = !inside && index < zoomed && box.end > zoomed;
    box.node.style.display = inside || above ? '' : 'none';
    if (!inside && !above) return;
    const x = above ? 0 : (box.x - zoom.x) / zoom.w * 100;
    const w = above ? 100 : box.w / zoom.w * 100;
    const y = top + ROW * (flipped ? box.level : levels - 1 - box.level);
    box.node.classList.toggle('above', above);
    box.node.classList.toggle('thin', w / 100 * all < THIN);
    box.rect.setAttribute('x', x + '%');
    box.rect.setAttribute('width', w + '%');
    box.rect.setAttribute('y', y);
    const text = label(box, w / 100 * all);
    if (text) {
      text.setAttribute('x', x + '%');
      text.setAttribute('y', y + 12);
    }
  });
  resetButton.disabled = zoomed === 0;
}

function percent(share) {
  return (share * 100).toFixed(share < 0.0995 ? 2 : 1) + ' %';
}

function search() {
  const words = field.value;
  pattern = null;
  field.classList.remove('bad');
  if (words) {
    // Capital letters matter where there are some.
    const flags = words === words.toLowerCase() ? 'iu' : 'u';
    try {
      pattern = new RegExp(words, flags);
    } catch {
      pattern = new RegExp(words.replace(/[.*+?^${}()|[\]\\\/-]/g, '\\$&'), flags.replace('u', ''));
      field.classList.add('bad');
    }
  }
  let hits = 0;
  for (const box of boxes) {
    box.hit = !!pattern && (pattern.test(box.name) || pattern.test(box.place));
    box.node.classList.toggle('hit', box.hit);
    if (box.hit) hits++;
  }
  svg.classList.toggle('search', !!pattern);
  // What a match called is in its share already.
  const zoom = boxes[zoomed];
  let sum = 0;
  for (let at = zoomed; at < zoom.end;) {
    if (boxes[at].hit) {
      sum += boxes[at].w;
      at = boxes[at].end;
    } else at++;
  }
  matched.textContent = pattern
    ? (hits ? `matched ${percent(sum / zoom.w)}${zoomed ? ' of the zoomed' : ''} in ${hits} ${hits === 1 ? 'box' : 'boxes'}` : 'no match')
    : '';
}

function zoomTo(index) {
  zoomed = index;
  draw();
  search();
}

function show(box) {
  const zoom = boxes[zoomed];
  const parts = [box.name, box.place, ...box.shares].filter(Boolean);
  if (zoomed && box !== zoom && !box.node.classList.contains('above')) {
    parts.push(`${percent(box.w / zoom.w)} of the zoomed`);
  }
  details.textContent = parts.join(' · ');
}

const boxOf = (event) => {
  const node = event.target.closest && event.target.closest('.b');
  return node && boxes[+node.dataset.i];
};
svg.addEventListener('click', (event) => {
  const box = boxOf(event);
  if (box) zoomTo(boxes.indexOf(box));
});
svg.addEventListener('mouseover', (event) => {
  const box = boxOf(event);
  if (box) show(box);
});
svg.addEventListener('mouseout', (event) => {
  if (boxOf(event)) details.textContent = hint;
});
field.addEventListener('input', search);
find('.clear').addEventListener('click', () => { field.value = ''; search(); field.focus(); });
resetButton.addEventListener('click', () => zoomTo(0));
find('.flip').addEventListener('click', () => { flipped = !flipped; draw(); toRoot(); });
document.addEventListener('keydown', (event) => {
  const writing = document.activeElement === field;
  const finds = (event.ctrlKey || event.metaKey) && event.key.toLowerCase() === 'f';
  if (finds || (event.key === '/' && !writing)) {
    event.preventDefault();
    field.focus();
    field.select();
  } else if (event.key === 'Escape') {
    if (field.value) { field.value = ''; search(); } else zoomTo(0);
    field.blur();
  }
});
function toRoot() {
  if (document.documentElement === svg) window.scrollTo(0, flipped ? 0 : svg.getBoundingClientRect().height);
}
let due = 0;
window.addEventListener('resize', () => {
  clearTimeout(due);
  due = setTimeout(draw, 50);
});
// The head stays in sight however tall the picture is.
window.addEventListener('scroll', () => {
  head.setAttribute('transform', `translate(0,${Math.max(0, -svg.getBoundingClientRect().top)})`);
});
draw();
// The root is what one begins with.
toRoot();
})();
