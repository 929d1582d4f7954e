// The keys, on request.

const KEYS: [string, string][] = [
  ["1 … 9", "go to a view"],
  ["/", "search"],
  ["?", "show or hide the keys"],
  ["arrows", "in a flame graph: caller, callee, neighbours; in a table: rows"],
  ["Enter", "zoom into the box, or open the row"],
  ["Escape, Backspace", "zoom out"],
  ["+ −", "zoom in the width"],
  ["*", "in a tree: open the hottest path from the row on"],
  ["Shift ← →, Enter", "in the timeline: choose a span of time, filter by it"],
  ["Page Up, Page Down", "in the timeline: earlier, later"],
  ["Ctrl and wheel", "zoom in time or width"],
  ["F", "in a flame graph in time: filter by the time of the box"],
  ["Space, C", "in the heatmap: a second square to compare with; the whole column"],
  ["C, 0", "in the call graph: centre on the box; fit the window"],
  ["M", "what can be done with a row or a box"],
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
