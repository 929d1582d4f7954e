// The keys, on request.

const KEYS: [string, string][] = [
  ["1 … 9", "go to a view"],
  ["/", "search"],
  ["?", "show or hide the keys"],
  ["arrows", "in a flame graph: caller, callee, neighbours; in a table: rows"],
  ["Enter", "zoom into the box, or open the row"],
  ["Escape, Backspace", "zoom out"],
  ["+ −", "zoom in the width"],
  ["Alt ←", "take back the last step"],
];

export function Keys() {
  return (
    <dl class="keys">
      {KEYS.map(([key, what]) => (
        <div key={key}>
          <dt>
            <kbd>{key}</kbd>
          </dt>
          <dd>{what}</dd>
        </div>
      ))}
    </dl>
  );
}
