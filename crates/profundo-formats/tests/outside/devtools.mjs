// Loads heap snapshots by DevTools' own loader, and writes what it knows of each object.
import fs from 'node:fs';
import path from 'node:path';
import {pathToFileURL} from 'node:url';

const [folder, bundle, snapshot, out] = process.argv.slice(2);
if (snapshot === undefined) {
  // Bundles the loader: `devtools.mjs NPM-FOLDER BUNDLE`.
  const {build} = await import(pathToFileURL(path.join(folder, 'node_modules/esbuild/lib/main.js')));
  const front = path.join(folder, 'node_modules/chrome-devtools-frontend/front_end');
  await build({
    entryPoints: [path.join(front, 'entrypoints/heap_snapshot_worker/heap_snapshot_worker.ts')],
    bundle: true, format: 'esm', platform: 'node', target: 'node20', outfile: bundle, logLevel: 'error',
    plugins: [{
      name: 'no page around it',
      setup(build) {
        build.onLoad({filter: /core\/platform\/HostRuntime\.ts$/}, () => ({contents: 'export const HOST_RUNTIME = {getLocalStorage: () => undefined};'}));
        build.onResolve({filter: /\/locales\.js$/}, () => ({path: 'locales', namespace: 'none'}));
        build.onLoad({filter: /.*/, namespace: 'none'}, () =>
          ({contents: 'export const LOCALES = ["en-US"]; export const BUNDLED_LOCALES = ["en-US"]; export const DEFAULT_LOCALE = "en-US"; export const REMOTE_FETCH_PATTERN = ""; export const LOCAL_FETCH_PATTERN = "";'}));
      },
    }],
  });
} else {
  // Node 20 lacks it.
  Promise.withResolvers ??= () => {
    const made = {};
    made.promise = new Promise((resolve, reject) => Object.assign(made, {resolve, reject}));
    return made;
  };
  const {HeapSnapshot, HeapSnapshotLoader} = await import(pathToFileURL(bundle));
  // It moves the sizes of arrays to their owners before it adds up: here each object keeps its own.
  HeapSnapshot.JSHeapSnapshot.prototype.calculateShallowSizes = () => {};
  const loader = new HeapSnapshotLoader.HeapSnapshotLoader({sendEvent() {}});
  const text = fs.readFileSync(snapshot, 'utf8');
  for (let at = 0; at < text.length; at += 1 << 20) await loader.write(text.slice(at, at + (1 << 20)));
  loader.close();
  await loader.parsingComplete;
  const {port1, port2} = new MessageChannel();
  new HeapSnapshot.SecondaryInitManager(port2);
  const heap = await loader.buildSnapshot(port1);
  const classes = heap.getAggregatesByClassKey(false, 'allObjects');
  const retained = Array.from(heap.retainedSizes);
  const types = Object.values(classes).map(it => [it.name, it.count, it.self, it.maxRet]);
  const duplicates = heap.getDuplicateStrings().map(it => [it.value, it.count, it.totalSelfSize]);
  fs.writeFileSync(out, JSON.stringify({
    nodes: heap.nodeCount, edges: heap.containmentEdges.length / heap.edgeFieldsCount, retained, types, duplicates,
  }));
  process.exit(0);
}
