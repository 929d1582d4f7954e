// A curve as small as a word: how much was live over the time of a recording.

import { bytes } from "../numbers";

const WIDTH = 84;
const HEIGHT = 16;

/** The curve of a row's live bytes; the last point is the end of the recording. */
export function Sparkline({ points }: { points: number[] }) {
  const most = Math.max(...points, 0);
  if (most === 0) {
    return null;
  }
  const x = (at: number) => (points.length < 2 ? 0 : (at * WIDTH) / (points.length - 1));
  const y = (value: number) => HEIGHT - 1 - (value / most) * (HEIGHT - 2);
  const line = points.map((value, at) => `${x(at).toFixed(1)},${y(value).toFixed(1)}`).join(" ");
  const words = `live over time: at most ${bytes(most)}, ${bytes(points[points.length - 1])} at the end`;
  return (
    <svg class="sparkline" width={WIDTH} height={HEIGHT} viewBox={`0 0 ${WIDTH} ${HEIGHT}`} role="img" aria-label={words}>
      <title>{words}</title>
      <polygon points={`0,${HEIGHT} ${line} ${WIDTH},${HEIGHT}`} />
      <polyline points={line} />
    </svg>
  );
}
