// Reads a CPU profile by DevTools' own model of it and by the engine of its Performance panel, and
// writes the times of functions in microseconds: `devtools_cpu.mjs NPM-FOLDER BUNDLES-FOLDER FILE`.
import fs from 'node:fs';
import path from 'node:path';
import {pathToFileURL} from 'node:url';

const [folder, bundles, file] = process.argv.slice(2);
const bundle = path.join(bundles, 'devtools-cpu-bundle.mjs');
if (!fs.existsSync(bundle)) {
  const {build} = await import(pathToFileURL(path.join(folder, 'node_modules/esbuild/lib/main.js')));
  const whole = `${bundle}.${process.pid}.mjs`;
  await build({
    stdin: {
      contents: 'export * as CPU from "./models/cpu_profile/cpu_profile.js"; export * as Trace from "./models/trace/trace.js";',
      resolveDir: path.join(folder, 'node_modules/chrome-devtools-frontend/front_end'),
    },
    bundle: true, format: 'esm', platform: 'node', target: 'node20', outfile: whole, logLevel: 'error',
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
  fs.renameSync(whole, bundle);
}
globalThis.window ??= globalThis;
globalThis.self ??= globalThis;
// Node 20 lacks it.
Promise.withResolvers ??= () => {
  const made = {};
  made.promise = new Promise((resolve, reject) => Object.assign(made, {resolve, reject}));
  return made;
};
const {CPU, Trace} = await import(pathToFileURL(bundle));
const read = () => JSON.parse(fs.readFileSync(file, 'utf8'));

/** Sums by function; the total of a function within itself is not added again. */
class Sums {
  rows = new Map();
  add(frame, callers, own, total) {
    const key = ({functionName, url}) => JSON.stringify([functionName, url]);
    if (!this.rows.has(key(frame))) this.rows.set(key(frame), {name: frame.functionName, url: frame.url, own: 0, total: 0, nodes: 0});
    const row = this.rows.get(key(frame));
    row.nodes++;
    row.own += own;
    if (!callers.some(caller => key(caller) === key(frame))) row.total += total;
  }
}
const callers = (node, frame) => {
  const all = [];
  for (let at = node.parent; at; at = at.parent) if (frame(at)) all.push(frame(at));
  return all;
};

const model = new CPU.CPUProfileDataModel.CPUProfileDataModel(read());
const byHits = new Sums();
for (const node of model.nodes()) byHits.add(node.callFrame, callers(node, it => it.callFrame), node.self * 1000, node.total * 1000);
// The total of a node is a sum over all nodes below it.
for (const row of byHits.rows.values()) row.nodes = model.nodes().length;

const trace = Trace.Helpers.SamplesIntegrator.SamplesIntegrator.createFakeTraceFromCpuProfile(read(), 1);
const engine = Trace.TraceModel.Model.createWithAllHandlers();
await engine.parse(trace.traceEvents, {metadata: trace.metadata, isFreshRecording: false});
const {data} = engine.parsedTrace(0);
const byTime = new Sums();
for (const thread of Trace.Handlers.Threads.threadsInTrace(data)) {
  for (const call of thread.entries) {
    const node = data.Samples.entryToNode.get(call);
    byTime.add(call.callFrame, callers(node, it => it.entry.callFrame), node.selfTime ?? 0, call.dur ?? 0);
  }
}
process.stdout.write(JSON.stringify({
  byHits: [...byHits.rows.values()], byTime: [...byTime.rows.values()], range: data.Meta.traceBounds.range,
}));
