// Uses the picture in the frame as a person would, and writes down what is seen.
const frame = document.querySelector('iframe');
// The boxes of the file, before its script has run.
const file = new XMLHttpRequest();
file.open('GET', 'odd.svg', false);
file.overrideMimeType('image/svg+xml');
file.send();
window.before = Array.from(file.responseXML.querySelectorAll('.b'), (box) => {
  const rect = box.querySelector('rect');
  return [box.querySelector('title').textContent.split('\n')[0], rect.getAttribute('x'), rect.getAttribute('width')];
});
frame.onload = () => setTimeout(() => {
  const inside = frame.contentDocument, view = frame.contentWindow, seen = {};
  const boxes = () => Array.from(inside.querySelectorAll('.b')).filter((box) => box.style.display !== 'none');
  const titled = (start) => boxes().find((box) => box.getAttribute('aria-label').startsWith(start));
  const shown = () => boxes().length;
  const across = () => inside.documentElement.getBoundingClientRect().width;
  // In per cent of the picture, as in the file.
  const width = (start) => titled(start).querySelector('rect').getAttribute('width') / across() * 100;
  const words = (start) => titled(start).querySelector('text').textContent;
  const matched = () => inside.querySelector('.matched').textContent;
  const fire = (node, event) => node.dispatchEvent(event);
  const mouse = (start, event) => fire(titled(start).querySelector('rect'), new view.MouseEvent(event, { bubbles: true }));
  const key = (name, more) => fire(inside, new view.KeyboardEvent('keydown', { key: name, bubbles: true, cancelable: true, ...more }));
  const field = inside.querySelector('input');
  const search = (text) => {
    field.value = text;
    fire(field, new view.Event('input', { bubbles: true }));
    return matched();
  };
  seen.all = shown();
  // The texts of the file and of the script are the same.
  const { before } = window;
  seen.same = before.length === seen.all && before.every(([name, left, wide]) => {
    const box = boxes().find((other) => {
      const rect = other.querySelector('rect');
      const near = (key, part) => Math.abs(rect.getAttribute(key) / across() * 100 - parseFloat(part)) < 0.02;
      return other.getAttribute('aria-label') === name && near('x', left) && near('width', wide);
    });
    return !!box;
  });
  seen.before = width('deflate_fast');
  seen.found = search('deflate_fast|init');
  seen.capital = search('deflate_FAST');
  seen.literal = search('[](');
  seen.file = search('zlib/deflate.c');
  const hits = () => boxes().filter((box) => box.classList.contains('hit')).length;
  seen.hits = hits();
  mouse('Worker.work', 'click');
  seen.zoomed = shown();
  seen.worker = width('Worker.work');
  seen.caller = width('<module>');
  seen.after = width('deflate_fast');
  seen.of_zoomed = matched();
  mouse('deflate_fast', 'mouseover');
  seen.details = Array.from(inside.querySelectorAll('.details'), (line) => line.textContent).join('\n');
  key('Escape');
  seen.escaped = [matched(), hits(), shown()];
  key('Escape');
  seen.back = [shown(), width('deflate_fast')];
  // The first box is the root; from it up to its widest callees.
  for (const name of ['ArrowUp', 'ArrowUp', 'ArrowUp']) key(name);
  seen.walked = inside.querySelector('.chosen').getAttribute('aria-label');
  key('Enter');
  seen.entered = shown();
  key('0');
  seen.themes = [0, 1].map(() => { key('d'); return inside.documentElement.classList.contains('dark') ? 'dark' : 'light'; });
  seen.coloured = [key('c') && 0, inside.querySelector('.colours').textContent];
  key('c'); key('c'); key('c');
  seen.coloured = [seen.coloured[1], inside.querySelector('.colours').textContent];
  key('?');
  seen.helped = inside.documentElement.classList.contains('helped');
  key('?');
  seen.taken = !key('f', { ctrlKey: true });
  seen.focused = inside.activeElement === field;
  field.blur();
  key('/');
  seen.slash = inside.activeElement === field;
  const root = titled('all').querySelector('rect');
  const y = () => Number(root.getAttribute('y'));
  seen.low = y();
  inside.querySelector('.flip').click();
  seen.high = y();
  seen.short = words('operator new');
  frame.style.width = '9000px';
  // Nothing is painted here, so nobody else would say so.
  fire(view, new view.Event('resize'));
  setTimeout(() => {
    seen.long = words('operator new');
    document.body.textContent = 'SEEN:' + JSON.stringify(seen) + ':SEEN';
  }, 500);
}, 300);
