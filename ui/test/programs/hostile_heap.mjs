// Writes a heap snapshot in V8's format, whose objects and texts have given names.

import { writeFileSync } from "node:fs";

const META = {
  node_fields: ["type", "name", "id", "self_size", "edge_count"],
  node_types: [["synthetic", "object", "string"], "string", "number", "number", "number"],
  edge_fields: ["type", "name_or_index", "to_node"],
  edge_types: [["element", "property"], "string_or_number", "node"],
};

/** Each name is an object, which holds a text of this name twice by a property of this name. */
export function writeHeap(out, names) {
  const strings = ["", ...names];
  const nodes = [0, 0, 1, 0, names.length];
  const edges = [];
  const at = (row) => row * META.node_fields.length;
  names.forEach((_, number) => {
    const object = 1 + 3 * number;
    edges.push(1, number + 1, at(object));
  });
  names.forEach((_, number) => {
    const id = 3 + 6 * number;
    nodes.push(1, number + 1, id, 64, 2, 2, number + 1, id + 2, 100, 0, 2, number + 1, id + 4, 100, 0);
    const object = 1 + 3 * number;
    edges.push(1, number + 1, at(object + 1), 0, 1, at(object + 2));
  });
  const snapshot = { meta: META, node_count: nodes.length / 5, edge_count: edges.length / 3 };
  writeFileSync(out, JSON.stringify({ snapshot, nodes, edges, strings }));
}
