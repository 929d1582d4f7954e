// Details in a fixed line; a click enlarges a box.
'use strict';
(function () {
  const svg = document.documentElement, map = svg.querySelector('.map');
  const details = svg.querySelector('.details'), hint = details.textContent;
  const whole = map.getAttribute('viewBox');
  const seen = [];
  svg.addEventListener('mouseover', event => {
    const box = event.target.closest('.b');
    const title = box && box.querySelector('title');
    details.textContent = title ? title.textContent.split('\n').join('  ·  ') : hint;
    details.classList.toggle('faint', !title);
  });
  map.addEventListener('click', event => {
    const box = event.target.closest('.b');
    const rect = box && box.querySelector('rect');
    if (!rect) return;
    const next = ['x', 'y', 'width', 'height'].map(name => rect.getAttribute(name)).join(' ');
    const now = map.getAttribute('viewBox');
    if (next === now) return;
    seen.push(now);
    map.setAttribute('viewBox', next);
  });
  addEventListener('keydown', event => {
    if (event.key === 'Escape') map.setAttribute('viewBox', seen.pop() || whole);
  });
  if (window.top === window.self) {
    svg.setAttribute('width', '100%');
    svg.setAttribute('height', '100%');
  }
})();
