// A flame graph, read back from the canvas that draws it: its boxes, with the sums that reports have.

import assert from "node:assert/strict";

/** The boxes of the first picture in the page. */
export function pictureOf(page) {
  return page.page.evaluate(() => {
    const { picture } = document.querySelector("main canvas").drawing;
    const { boxes, flame, parent } = picture;
    return {
      unit: flame.unit,
      total: flame.total,
      level: boxes.level,
      name: boxes.function.map((row) => (row >= 0 ? flame.functions.name[row] : ["", "all", "[system call]", "[narrow]"][-row])),
      file: boxes.function.map((row) => (row >= 0 ? flame.functions.file[row] : "")),
      parent: [...parent],
      weight: boxes.weight,
      own: boxes.own,
      function: boxes.function,
    };
  });
}

const keyOf = (name, file) => `${name} ${file}`;
const nameOf = (row) => row.function ?? "[unknown]";

/** What boxes that are too narrow to be shown weigh together: so much may be missing elsewhere. */
function narrowWeight(shown) {
  return shown.name.reduce((sum, name, at) => (name === "[narrow]" ? sum + shown.weight[at] : sum), 0);
}

/** Amounts of reports are seconds, or bytes and blocks as they are. */
function amountOf(row, prefix, unit) {
  return unit === "time" ? Math.round(row[`${prefix}seconds`] * 1e9) : row[`${prefix}${unit}`];
}

function checkSum(sum, expected, missing, what) {
  assert.ok(sum <= expected + 4 && sum + missing >= expected - 4, `${what}: the picture has ${sum}, the report ${expected}`);
}

/**
 * The sums over boxes are the rows of `report functions`: a function's own time over all of its
 * boxes, its total over the outermost of them.
 */
export function compareWithFunctions(shown, functions, what) {
  const own = new Map();
  const total = new Map();
  shown.weight.forEach((weight, at) => {
    const key = keyOf(shown.name[at], shown.file[at]);
    own.set(key, (own.get(key) ?? 0) + shown.own[at]);
    let up = shown.parent[at];
    while (up >= 0 && keyOf(shown.name[up], shown.file[up]) !== key) {
      up = shown.parent[up];
    }
    if (up < 0) {
      total.set(key, (total.get(key) ?? 0) + weight);
    }
  });
  const narrow = narrowWeight(shown);
  const keys = functions.map((row) => keyOf(nameOf(row), row.file ?? ""));
  functions.forEach((row, at) => {
    // Two functions of one name in one file are one key here.
    if (keys.indexOf(keys[at]) === at && keys.lastIndexOf(keys[at]) === at) {
      checkSum(own.get(keys[at]) ?? 0, amountOf(row, "self_", shown.unit), narrow, `${what}: self of ${keys[at]}`);
      checkSum(total.get(keys[at]) ?? 0, amountOf(row, "total_", shown.unit), narrow, `${what}: total of ${keys[at]}`);
    }
  });
  for (const key of own.keys()) {
    assert.ok(keys.includes(key) || ["all ", "[system call] ", "[narrow] "].includes(key), `${what}: no report has ${key}`);
  }
}

/** A picture with parts beside each other, without what the parts are called. */
export function withoutParts(shown) {
  return { ...shown, name: shown.name.map((name, at) => (shown.level[at] === 1 ? "all" : name)) };
}

/** Every box is a call of `report tree`: the same chain of callers, with the same weight. */
export function compareWithTree(shown, tree, what) {
  const { nodes } = tree.groups[0];
  const numbers = new Map();
  const number = (caller, key) => {
    const text = `${caller} ${key}`;
    if (!numbers.has(text)) {
      numbers.set(text, numbers.size + 1);
    }
    return numbers.get(text);
  };
  // By node of the report, its chain; then the weight of each chain, from the leaves up.
  const chains = [0];
  for (const node of nodes) {
    chains.push(number(node.caller === null ? 0 : chains[node.caller], keyOf(nameOf(node), node.file ?? "")));
  }
  const below = nodes.map((node) => amountOf(node, "self_", shown.unit));
  for (let at = nodes.length - 1; at >= 0; at--) {
    const { caller } = nodes[at];
    if (caller !== null) {
      below[caller - 1] += below[at];
    }
  }
  const expected = new Map();
  nodes.forEach((_, at) => expected.set(chains[at + 1], (expected.get(chains[at + 1]) ?? 0) + below[at]));
  const narrow = narrowWeight(shown);
  const boxes = [];
  let compared = 0;
  shown.weight.forEach((weight, at) => {
    const { [at]: name } = shown.name;
    if (shown.parent[at] < 0) {
      boxes.push(0);
    } else if (name === "[system call]" || name === "[narrow]") {
      boxes.push(-1);
    } else {
      const chain = number(boxes[shown.parent[at]], keyOf(name, shown.file[at]));
      boxes.push(chain);
      assert.ok(expected.has(chain), `${what}: the tree has no call of ${name} there`);
      checkSum(weight, expected.get(chain), narrow, `${what}: the call of ${name}`);
      compared += 1;
    }
  });
  assert.equal(compared > 0, nodes.length > 0, what);
  if (narrow === 0) {
    assert.equal(compared, expected.size, `${what}: boxes, and calls of the tree`);
  }
}

/** The rows of the view `tree` are boxes of the picture that it was made from. */
export function compareRows(numbers, shown, what) {
  const boxes = shown.name.map((name, at) => ({ key: `${name} ${shown.file[at]}`, weight: shown.weight[at], own: shown.own[at] }));
  for (const { row, is, number } of numbers) {
    const isThere = row.startsWith("… ") || boxes.some((box) => box.key === row && box[is] === number);
    assert.ok(isThere, `${what}: ${row} ${is} ${number} is no box`);
  }
}
