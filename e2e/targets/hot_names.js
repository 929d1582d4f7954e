// Three functions that take six, three and one parts of the time, one called by the other.
function burn(ms) {
  const end = process.cpuUsage().user + ms * 1000;
  let n = 0;
  while (process.cpuUsage().user < end) for (let i = 0; i < 20000; i++) n = (n * 31 + i) | 0;
  return n;
}
class Parts {
  onePart(ms) { return burn(ms); }
  threeParts(ms) { return this.onePart(ms) + burn(3 * ms); }
}
function sixParts(parts, ms) { return parts.threeParts(ms) + burn(6 * ms); }
const parts = new Parts();
for (let i = 0; i < 20; i++) sixParts(parts, 8);
console.log('done');
