// Builds the tree of a DHAT file by the code of Valgrind's own viewer, without a page, and prints the
// sums of its root and of each leaf.
import fs from "node:fs";
import vm from "node:vm";

const [viewer, file] = process.argv.slice(2);
const element = () =>
  new Proxy(() => {}, { get: (_, name) => (name === "classList" ? { add() {} } : element()), apply: () => element() });
const program = `${fs.readFileSync(viewer, "utf8")}
gData = ${fs.readFileSync(file, "utf8")};
gSelect = { childNodes: gSelectData.map(() => ({})), selectedIndex: 0 };
buildTree();
const leaves = [];
const visit = node => {
  const kids = node._kids ?? [];
  kids.forEach(visit);
  if (kids.length === 0) leaves.push([node._totalBytes, node._atTGmaxBytes, node._atTEndBytes]);
};
visit(gRoot);
JSON.stringify({ root: [gRoot._totalBytes, gRoot._atTGmaxBytes, gRoot._atTEndBytes], leaves });`;
const page = { document: element(), window: element(), console };
process.stdout.write(vm.runInNewContext(program, page));
