// The head: its lines in the width that there is, the legend, the tools, and the details.
const head = find('.head'), tools = find('.tools'), field = find('input'), matched = find('.matched');
const [nameLine, amountLine] = svg.querySelectorAll('.details');
const titleLine = find('.head .title'), legend = find('.legend'), help = find('.help');
const lines = Array.from(svg.querySelectorAll('.line'), (node) => (
  { node, words: Array.from(node.children, (row) => row.textContent).join(' ') }));
const titleWords = wholeTitle || titleLine.textContent, hint = amountLine.textContent;
const resetButton = find('.reset'), themeButton = find('.theme'), coloursButton = find('.colours');
// The title's letters are larger.
const TITLE_LINES = 3, TITLE_SIZE = 0.79;
let arranged = '';

// Sets the lines in the width, and returns the height of the head.
function arrangeHead() {
  const key = `${width} ${look}`;
  if (key === arranged) return top;
  arranged = key;
  const room = Math.max(10, Math.floor((width - 16) / glyph));
  let y = 22;
  const set = (node, words, most, fits, step) => {
    node.textContent = '';
    for (const row of wrapped(words, fits, most)) {
      node.append(element('tspan', { x: 8, y }, row));
      y += step;
    }
  };
  set(titleLine, titleWords, TITLE_LINES, Math.floor(room * TITLE_SIZE), 20);
  for (const { node, words } of lines) set(node, words, Infinity, room, 17);
  y = arrangeLegend(y) + 12;
  tools.setAttribute('y', y);
  // The buttons take as many rows as they need.
  tools.setAttribute('height', 200);
  const height = Math.ceil(tools.firstElementChild.getBoundingClientRect().height) || 28;
  tools.setAttribute('height', height);
  y += height;
  nameLine.setAttribute('y', y + 18);
  amountLine.setAttribute('y', y + 34);
  find('.head>rect').setAttribute('height', y + 43);
  if (!details.shown) amountLine.textContent = cut(hint, room);
  return y + 46;
}

function arrangeLegend(start) {
  legend.textContent = '';
  const [, letter, rows] = data.looks[look] || ['', '', []];
  let x = 8, y = start;
  for (const [row, words] of rows) {
    const across = 37 + glyph * cells(words);
    if (x > 8 && x + across - 20 > width) [x, y] = [8, y + 19];
    legend.append(
      element('rect', { class: letter + row, x, y: y - 10, width: 12, height: 12, rx: 2 }),
      element('text', { x: x + 17, y }, words),
    );
    x += across;
  }
  return y;
}

const details = { shown: false };
function show(index) {
  const room = Math.floor((width - 16) / glyph), place = strips[index] ? '' : placeOf(index);
  nameLine.textContent = cut(place ? `${wordsOf(index)} · ${place}` : wordsOf(index), room);
  let text = strips[index] ? `${amounts(index)} · click to see the calls` : amounts(index);
  if (zoomed >= 0 && index > zoomed && index < end[zoomed] && !data.compared) {
    text += ` · ${percent(weight[index] / weight[zoomed])} of the zoomed`;
  }
  amountLine.textContent = cut(text, room);
  amountLine.classList.remove('faint');
  details.shown = true;
}

function hide() {
  if (chosen >= 0) return show(chosen);
  nameLine.textContent = '';
  amountLine.textContent = cut(hint, Math.floor((width - 16) / glyph));
  amountLine.classList.add('faint');
  details.shown = false;
  return undefined;
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
  svg.classList.toggle('search', !!pattern);
  matched.textContent = pattern ? found() : '';
  recolour();
}

function found() {
  const names = data.names.map((name) => pattern.test(name)), files = data.files.map((file) => pattern.test(file));
  hits = new Uint8Array(data.frames.length / 4);
  for (let at = 0; at < hits.length; at++) hits[at] = names[data.frames[4 * at]] || files[data.frames[4 * at + 1]] ? 1 : 0;
  // What a match called is in its share already.
  const from = Math.max(0, zoomed), to = zoomed < 0 ? size : end[zoomed];
  let sum = 0, boxes = 0, inner = from;
  for (let at = from; at < to; at++) {
    if (!hits[frame[at]]) continue;
    boxes++;
    if (at < inner) continue;
    sum += weight[at];
    inner = end[at];
  }
  if (!boxes) return zoomed < 0 ? 'no match' : 'no match in the zoomed';
  const share = percent(sum / Math.max(1, zoomed < 0 ? data.total : weight[zoomed]));
  return `matched ${share}${zoomed < 0 ? '' : ' of the zoomed'} in ${boxes} ${boxes === 1 ? 'box' : 'boxes'}`;
}
