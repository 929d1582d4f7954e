// Amounts, shares and names in words, as in `words.rs` and in `text.rs` of all pictures.
function percent(share) {
  const percents = share * 100;
  // A rounded zero would deny what is there.
  if (percents > 0 && percents < 0.01) return '<0.01 %';
  return percents.toFixed(percents > 0 && percents < 0.995 ? 2 : 1) + ' %';
}

function time(nanoseconds) {
  const seconds = nanoseconds / 1e9;
  if (seconds >= 99.95) return seconds.toFixed(0) + ' s';
  if (seconds >= 0.9995 || nanoseconds === 0) return seconds.toFixed(2) + ' s';
  if (seconds >= 0.99995e-3) return (seconds * 1e3).toFixed(1) + ' ms';
  return (seconds * 1e6).toFixed(1) + ' µs';
}

function bytes(number) {
  let size = number, unit = 'B';
  for (const next of ['kB', 'MB', 'GB', 'TB', 'PB', 'EB']) {
    if (size < 999.5) break;
    size /= 1e3;
    unit = next;
  }
  if (unit === 'B') return Math.round(number) + ' B';
  return size.toFixed(size < 9.995 ? 2 : size < 99.95 ? 1 : 0) + ' ' + unit;
}

function amountOf(amount) {
  const whole = Math.round(amount);
  switch (data.unit) {
    case 'time': return time(amount);
    case 'bytes': return bytes(amount);
    case 'blocks': return whole === 1 ? '1 block' : whole + ' blocks';
    case 'times': return whole + ' times';
    default: return String(whole);
  }
}

const counted = (number) => (data.traced ? 'call' : 'sample') + (number === 1 ? '' : 's');

// The ends of Wilson's interval of a share.
function interval(share) {
  const z = 1.959963984540054, n = data.samples;
  if (n <= 0) return [0, 1];
  const scale = 1 + z * z / n, centre = (share + z * z / (2 * n)) / scale;
  const spread = share * (1 - share) / n + z * z / (4 * n * n), half = z / scale * Math.sqrt(Math.max(0, spread));
  return [Math.max(0, centre - half), Math.min(1, centre + half)];
}

// The amounts of a box: its share, with its uncertainty, and what that is.
function amounts(index) {
  if (data.compared) return compared(before.w[index], after.w[index]);
  const of = data.timed ? `from ${time(after.x[index] + data.origin)} for ${time(after.w[index])}: ` : '';
  const isTime = data.unit === 'time' || data.unit === 'counts';
  if (data.few && isTime) return `${of}${count[index]} of ${data.count} ${counted(data.count)}`;
  const share = weight[index] / Math.max(1, data.total);
  let text = of + percent(share);
  if (data.samples !== null && !data.few && !data.timed) {
    const [low, high] = interval(share);
    text += ` (95 %: ${percent(low)} to ${percent(high)})`;
  }
  if (data.unit !== 'counts') text += ', ' + amountOf(weight[index]);
  if (isTime) text += `, ${count[index]} ${counted(count[index])}`;
  if (own[index] > 0 && own[index] < weight[index]) text += `; of its own ${percent(own[index] / Math.max(1, data.total))}`;
  return text;
}

function compared(was, is) {
  const sign = is < was ? '−' : '+';
  const text = `before ${amountOf(was)}, after ${amountOf(is)}: ${sign}${amountOf(Math.abs(is - was))}`;
  if (was === 0) return text + ', new';
  if (is === 0) return text + ', gone';
  return `${text}, ×${(is / was).toFixed(3)}`;
}

// The name of a box, or the words on its strip.
function wordsOf(index) {
  const run = strips[index];
  if (!run) return nameOf(index);
  return `▸ ${run} calls with the same share: ${nameOf(index)} … ${nameOf(index + run - 1)}`;
}

const WIDE = /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{1f300}-\u{1faff}\u{20000}-\u{3fffd}]/gu;
const isPlain = (text) => /^[\x20-\u10ff]*$/.test(text);
function cells(text) {
  if (isPlain(text)) return text.length;
  const wide = text.match(WIDE);
  return Array.from(text).length + (wide ? wide.length : 0);
}

// The start of a text that fits.
function cut(text, room) {
  if (cells(text) <= room) return text;
  if (isPlain(text)) return text.slice(0, Math.max(0, room - 1)) + '…';
  let left = room - 1, short = '';
  for (const letter of text) {
    left -= cells(letter);
    if (left < 0) break;
    short += letter;
  }
  return short + '…';
}

// The longest tail of a::b::c that fits, else as much of the name as does.
function fit(name, room) {
  if (room < 3 && name.length > room) return '';
  if (cells(name) <= room) return name;
  let depth = 0, rest = name;
  for (let at = 0; at + 2 < name.length; at++) {
    const c = name[at];
    if (c === '<') depth++;
    else if (c === '>' && name[at - 1] !== '-') depth--;
    else if (c === ':' && name[at + 1] === ':' && depth === 0) {
      rest = name.slice(at + 2);
      if (cells(rest) <= room) return rest;
      at++;
    }
  }
  return cut(rest, room);
}

// A text in lines of so many letters, and so many lines; the last one is cut where there is more.
function wrapped(text, room, most) {
  const rows = [''];
  for (const word of text.split(' ')) {
    const last = rows[rows.length - 1];
    if (last && rows.length < most && cells(last) + 1 + cells(word) > room) rows.push(word);
    else rows[rows.length - 1] = last ? `${last} ${word}` : word;
  }
  return rows.map((row) => cut(row, room));
}
