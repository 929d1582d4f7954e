// Loads a heap snapshot by memlab, and writes what it knows of each object.
const fs = require('node:fs');
const path = require('node:path');

const [folder, snapshot, out] = process.argv.slice(2);
const from = name => require(path.join(folder, 'node_modules', name));
const {getFullHeapFromFile} = from('@memlab/heap-analysis');

(async () => {
  const heap = await getFullHeapFromFile(snapshot);
  const retained = [];
  const ids = [];
  heap.nodes.forEach(node => { retained.push(node.retainedSize); ids.push(node.id); });
  fs.writeFileSync(out, JSON.stringify({nodes: heap.nodes.length, edges: heap.edges.length, ids, retained}));
  process.exit(0);
})();
