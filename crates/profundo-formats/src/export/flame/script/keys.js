// What a reader does: the mouse, the buttons, and the keys.
const past = [];

function zoomTo(index, isBack) {
  // The whole of a picture of one lane.
  const target = !data.timed && index === 0 ? -1 : index;
  if (target === zoomed) return;
  if (!isBack) past.push(zoomed);
  zoomed = target;
  resetButton.disabled = zoomed < 0;
  draw();
  search();
}

function back() {
  if (past.length) zoomTo(past.pop(), true);
}

function reset() {
  past.length = 0;
  zoomTo(-1, true);
}

// Zooms to a box; a strip shows its calls instead.
function open(index) {
  if (strips[index]) {
    opened.add(index);
    arrange();
    draw();
  } else zoomTo(index);
}

function flip() {
  flipped = !flipped;
  draw();
  toRoot();
}

function nextColours() {
  look = (look + 1) % data.looks.length;
  draw();
  recolour();
  if (coloursButton) coloursButton.textContent = `Colours: ${data.looks[look][0]}`;
}

const isDark = () => svg.classList.contains('dark')
  || (!svg.classList.contains('light') && matchMedia('(prefers-color-scheme:dark)').matches);
function nameTheme() {
  themeButton.textContent = isDark() ? 'Light' : 'Dark';
}
function toggleTheme() {
  const dark = !isDark();
  svg.classList.toggle('dark', dark);
  svg.classList.toggle('light', !dark);
  nameTheme();
}

function toggleFolds() {
  folds = !folds;
  opened.clear();
  arrange();
  draw();
  toRoot();
}

const KEYS = [
  ['arrows', 'move to the next box'],
  ['Enter', 'zoom to it'],
  ['Esc, Backspace', 'end the search, then go back'],
  ['0', 'show all'],
  ['/, Ctrl-F', 'search names and files (a regular expression)'],
  ['i', 'the root at the top or at the bottom'],
  ['c', 'the next colours: kind, package, file, heat'],
  ['f', 'fold long runs of calls with one share, or show them'],
  ['d', 'dark or light'],
  ['?', 'these keys'],
];
function toggleHelp() {
  if (!help.firstChild) {
    help.append(element('rect', { x: 8, y: 8, width: 500, height: 20 + 19 * KEYS.length, rx: 4 }));
    KEYS.forEach(([key, words], row) => help.append(
      element('text', { x: 22, y: 32 + 19 * row, style: 'font-weight:bold' }, key),
      element('text', { x: 150, y: 32 + 19 * row }, words),
    ));
  }
  svg.classList.toggle('helped');
}

function choose(box) {
  chosen = box ? box.at : -1;
  chosenLane = box ? box.lane : null;
  recolour();
  if (!box) return hide();
  show(box.at);
  // Into sight, below the head.
  if (document.documentElement === svg) {
    const y = svg.getBoundingClientRect().top + box.y;
    if (y < top || y + ROW > window.innerHeight) window.scrollBy(0, y - window.innerHeight / 2);
  }
  return undefined;
}

// The box beside the chosen one: across in its row, or in the row `down` of it.
function move(across, down) {
  const from = drawn.find((box) => box.at === chosen && box.lane === chosenLane);
  if (!from) return choose(drawn[0]);
  const distance = across
    ? (box) => (box.y === from.y ? (box.x - from.x) * across : -1)
    : (box) => {
      const shared = Math.min(box.x + box.w, from.x + from.w) - Math.max(box.x, from.x);
      return box.y === from.y + down * ROW && shared > 0 ? 1e6 - shared : -1;
    };
  let best = null, least = Infinity;
  for (const box of drawn) {
    const far = box !== from && box.lane === from.lane ? distance(box) : -1;
    if (far > 0 && far < least) [best, least] = [box, far];
  }
  if (!best && down) {
    // The next lane.
    const next = drawn.filter((box) => box.lane !== from.lane && (box.y - from.y) * down > 0);
    best = next.sort((a, b) => (a.y - b.y) * down || b.w - a.w)[0];
  }
  return best && choose(best);
}

const boxOf = (event) => {
  const node = event.target.closest && event.target.closest('.b');
  return node && node.box;
};
svg.addEventListener('click', (event) => {
  const box = boxOf(event);
  if (svg.classList.contains('helped')) toggleHelp();
  else if (box) open(box.at);
});
svg.addEventListener('mouseover', (event) => {
  const box = boxOf(event);
  if (box) show(box.at);
});
svg.addEventListener('mouseout', (event) => {
  if (boxOf(event)) hide();
});
field.addEventListener('input', search);
const press = (name, act) => {
  const button = find(name);
  if (button) button.addEventListener('click', (event) => { event.stopPropagation(); act(); button.blur(); });
};
press('.reset', reset);
press('.flip', flip);
press('.colours', nextColours);
press('.theme', toggleTheme);
press('.keys', toggleHelp);

const ACTIONS = {
  ArrowLeft: () => move(-1, 0),
  ArrowRight: () => move(1, 0),
  ArrowUp: () => move(0, -1),
  ArrowDown: () => move(0, 1),
  Enter: () => chosen >= 0 && open(chosen),
  Backspace: back,
  0: reset,
  Home: reset,
  i: flip,
  c: nextColours,
  f: toggleFolds,
  d: toggleTheme,
  '?': toggleHelp,
};
document.addEventListener('keydown', (event) => {
  const writing = document.activeElement === field;
  const finds = (event.ctrlKey || event.metaKey) && event.key.toLowerCase() === 'f';
  if (finds || (event.key === '/' && !writing)) {
    event.preventDefault();
    field.focus();
    field.select();
  } else if (event.key === 'Escape') {
    if (svg.classList.contains('helped')) toggleHelp();
    else if (field.value) {
      field.value = '';
      search();
    } else if (chosen >= 0 && !past.length) choose(null);
    else back();
    field.blur();
  } else if (writing && event.key === 'Enter') field.blur();
  else if (!writing && !event.ctrlKey && !event.metaKey && !event.altKey && ACTIONS[event.key]) {
    event.preventDefault();
    ACTIONS[event.key]();
  }
});

function toRoot() {
  if (document.documentElement === svg && lanes.length === 1) {
    window.scrollTo(0, flipped ? 0 : svg.getBoundingClientRect().height);
  }
}
let due = 0;
window.addEventListener('resize', () => {
  clearTimeout(due);
  due = setTimeout(draw, 50);
});
// The head stays in sight however tall the picture is.
window.addEventListener('scroll', () => {
  const moved = `translate(0,${Math.max(0, -svg.getBoundingClientRect().top)})`;
  head.setAttribute('transform', moved);
  help.setAttribute('transform', moved);
});
resetButton.disabled = true;
if (coloursButton) coloursButton.textContent = `Colours: ${data.looks[look][0]}`;
nameTheme();
draw();
// The root is what one begins with.
toRoot();
