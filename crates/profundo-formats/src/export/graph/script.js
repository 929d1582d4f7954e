// The picture fills the window and can be moved; details are in a line of the head.
'use strict';
(function () {
  const svg = document.documentElement, graph = svg.querySelector('.graph');
  const details = svg.querySelector('.details'), hint = details.textContent;
  const top = +svg.dataset.top, width = +graph.dataset.width, height = +graph.dataset.height;
  const margin = 16;
  let scale = 1, x = margin, y = top, moved = false, from = null;

  function show() {
    graph.setAttribute('transform', `translate(${x} ${y}) scale(${scale})`);
  }
  function resize() {
    svg.removeAttribute('viewBox');
    svg.setAttribute('width', '100%');
    svg.setAttribute('height', '100%');
  }
  function fit() {
    const room = { width: innerWidth - 2 * margin, height: innerHeight - top - margin };
    scale = Math.min(1, room.width / Math.max(width, 1), room.height / Math.max(height, 1));
    scale = Math.max(scale, 0.02);
    x = Math.max(margin, (innerWidth - width * scale) / 2);
    y = top;
    show();
  }
  // Text that is too small to be read says nothing: a large graph begins at its first box.
  function begin() {
    fit();
    const first = svg.querySelector('.n[data-n="0"]');
    if (scale >= 0.55 || !first) return;
    const box = first.getBBox(), place = first.transform.baseVal.consolidate().matrix;
    scale = 0.55;
    x = innerWidth / 2 - (place.e + box.width / 2) * scale;
    x = Math.min(margin, Math.max(x, innerWidth - margin - width * scale));
    y = top - (place.f - 40) * scale;
    y = Math.min(top, Math.max(y, innerHeight - margin - height * scale));
    show();
  }
  function zoom(factor, atX, atY) {
    const next = Math.min(8, Math.max(0.02, scale * factor));
    x = atX - (atX - x) * next / scale;
    y = atY - (atY - y) * next / scale;
    scale = next;
    show();
  }
  function clear() {
    svg.classList.remove('picked');
    for (const one of svg.querySelectorAll('.lit,.chosen')) one.classList.remove('lit', 'chosen');
  }
  function pick(node) {
    clear();
    svg.classList.add('picked');
    node.classList.add('chosen');
    const row = node.dataset.n;
    for (const edge of svg.querySelectorAll('.e')) {
      if (edge.dataset.a !== row && edge.dataset.b !== row) continue;
      edge.classList.add('lit');
      for (const end of [edge.dataset.a, edge.dataset.b]) {
        svg.querySelector(`.n[data-n="${end}"]`).classList.add('lit');
      }
    }
  }
  svg.addEventListener('mouseover', event => {
    const one = event.target.closest('.n,.e');
    const title = one && one.querySelector('title');
    details.textContent = title ? title.textContent.split('\n').join('  ·  ') : hint;
    details.classList.toggle('faint', !title);
  });
  svg.addEventListener('wheel', event => {
    event.preventDefault();
    zoom(Math.exp(-event.deltaY * 0.0015), event.clientX, event.clientY);
  }, { passive: false });
  svg.addEventListener('mousedown', event => {
    if (event.button !== 0) return;
    from = { x: event.clientX - x, y: event.clientY - y };
    moved = false;
  });
  addEventListener('mousemove', event => {
    if (!from) return;
    const next = { x: event.clientX - from.x, y: event.clientY - from.y };
    moved = moved || Math.abs(next.x - x) + Math.abs(next.y - y) > 3;
    if (!moved) return;
    x = next.x;
    y = next.y;
    show();
  });
  addEventListener('mouseup', () => { from = null; });
  svg.addEventListener('click', event => {
    if (moved) return;
    const node = event.target.closest('.n');
    if (node && !node.classList.contains('chosen')) pick(node);
    else clear();
  });
  addEventListener('keydown', event => {
    const middle = [innerWidth / 2, (innerHeight + top) / 2];
    const steps = { ArrowLeft: [80, 0], ArrowRight: [-80, 0], ArrowUp: [0, 80], ArrowDown: [0, -80] };
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === '0') fit();
    else if (event.key === '+' || event.key === '=') zoom(1.25, ...middle);
    else if (event.key === '-') zoom(0.8, ...middle);
    else if (event.key === 'Escape') clear();
    else if (steps[event.key]) {
      x += steps[event.key][0];
      y += steps[event.key][1];
      show();
    } else return;
    event.preventDefault();
  });
  // Another picture's page keeps this one at its own size.
  if (window.top === window.self) {
    resize();
    begin();
  }
})();
