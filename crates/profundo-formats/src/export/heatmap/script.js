(() => {
'use strict';
// The cell below the mouse in words; two clicks choose a stretch of time for other commands.
const NS = 'http://www.w3.org/2000/svg';
const svg = (document.currentScript && document.currentScript.ownerSVGElement) || document.documentElement;
const data = JSON.parse(svg.querySelector('.data').textContent);
const [line, hint] = svg.querySelectorAll('.details');
const HINT = 'Arrows or the mouse show a cell · two clicks (or Enter) choose a time for --from and --to · d: dark or light · Esc: start again';
let at = -1, from = -1;
const mark = document.createElementNS(NS, 'rect');
mark.setAttribute('class', 'mark');
svg.appendChild(mark);
// The browser would show it as a tooltip over everything.
const title = svg.querySelector('svg>title');
document.title = title ? title.textContent : '';
if (title) title.remove();

const time = (us) => (us >= 1e6 ? (us / 1e6).toFixed(2) + ' s' : us >= 1e3 ? (us / 1e3).toFixed(1) + ' ms' : us.toFixed(0) + ' µs');
const seconds = (ns) => String(+(ns / 1e9).toFixed(6));
function times(cell) {
  const column = Math.floor(cell / data.rows), start = data.start + column * data.column;
  const begin = start + (cell % data.rows) * data.row;
  return [begin, Math.min(begin + data.row, start + data.column)];
}
function words(cell) {
  const [begin, stop] = times(cell), place = `${seconds(begin)} to ${seconds(stop)} s: `;
  const numbers = data.cells[cell];
  if (!numbers) return place + 'nothing';
  const [busy, waiting, samples, hottest, most] = numbers;
  let text = `${place}${time(busy)} on a CPU`;
  if (waiting) text += `, ${time(waiting)} waiting`;
  text += `, ${samples} ${samples === 1 ? 'sample' : 'samples'}`;
  if (hottest >= 0) text += ` · most in ${data.names[hottest]} (${time(most)})`;
  return text;
}
function chosen() {
  const [first, last] = [Math.min(from, at), Math.max(from, at)];
  return `profundo flame --from ${seconds(times(first)[0])} --to ${seconds(times(last)[1])}`;
}
function show(cell) {
  at = cell;
  const column = Math.floor(cell / data.rows), row = cell % data.rows;
  mark.setAttribute('x', data.left + column * data.across);
  mark.setAttribute('y', data.top + (data.rows - 1 - row) * data.up);
  mark.setAttribute('width', data.across);
  mark.setAttribute('height', data.up);
  line.textContent = words(cell);
  hint.textContent = from >= 0 ? chosen() : HINT;
}
function click() {
  if (at < 0) return;
  if (from < 0) {
    from = at;
    hint.textContent = 'From here; the second click is the end';
    return;
  }
  hint.textContent = chosen();
  from = -1;
}
function cellOf(event) {
  const point = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
  const column = Math.floor((point.x - data.left) / data.across);
  const row = data.rows - 1 - Math.floor((point.y - data.top) / data.up);
  const isInside = column >= 0 && column < data.columns && row >= 0 && row < data.rows;
  return isInside ? column * data.rows + row : -1;
}
svg.addEventListener('mousemove', (event) => {
  const cell = cellOf(event);
  if (cell >= 0 && cell !== at) show(cell);
});
svg.addEventListener('click', (event) => {
  const cell = cellOf(event);
  if (cell < 0) return;
  show(cell);
  click();
});
const STEPS = { ArrowUp: 1, ArrowDown: -1, ArrowRight: data.rows, ArrowLeft: -data.rows };
document.addEventListener('keydown', (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const step = STEPS[event.key];
  if (step) {
    event.preventDefault();
    const next = at < 0 ? 0 : at + step;
    if (next >= 0 && next < data.cells.length) show(next);
  } else if (event.key === 'Enter') click();
  else if (event.key === 'Escape') {
    from = -1;
    hint.textContent = HINT;
  } else if (event.key === 'd') {
    const dark = svg.classList.contains('dark')
      || (!svg.classList.contains('light') && matchMedia('(prefers-color-scheme:dark)').matches);
    svg.classList.toggle('dark', !dark);
    svg.classList.toggle('light', dark);
  }
});
hint.textContent = HINT;
})();
