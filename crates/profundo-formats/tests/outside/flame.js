// Uses the picture in the frame as a person would, and writes down what is seen.
const frame = document.querySelector('iframe');
frame.onload = () => setTimeout(() => {
  const inside = frame.contentDocument, view = frame.contentWindow, seen = {};
  const boxes = Array.from(inside.querySelectorAll('.b'));
  const titled = (start) => boxes.find((box) => box.querySelector('title').textContent.startsWith(start));
  const shown = () => boxes.filter((box) => box.style.display !== 'none').length;
  const width = (start) => parseFloat(titled(start).querySelector('rect').getAttribute('width'));
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
  seen.before = width('deflate_fast');
  seen.found = search('deflate_fast|init');
  seen.capital = search('deflate_FAST');
  seen.literal = search('[](');
  seen.file = search('zlib/deflate.c');
  seen.hits = inside.querySelectorAll('.hit').length;
  mouse('Worker.work', 'click');
  seen.zoomed = shown();
  seen.worker = width('Worker.work');
  seen.caller = width('<module>');
  seen.after = width('deflate_fast');
  seen.of_zoomed = matched();
  mouse('deflate_fast', 'mouseover');
  seen.details = inside.querySelector('.details').textContent;
  key('Escape');
  seen.escaped = [matched(), inside.querySelectorAll('.hit').length, shown()];
  key('Escape');
  seen.back = [shown(), width('deflate_fast')];
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
