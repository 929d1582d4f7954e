// What the command says of heap snapshots: `profundo heap FILE --json`, with the question of a tab.

import { json } from "../harness/command.mjs";
import { counted, functionKey, keyed } from "./sampled.mjs";

/** An object's id, as the page and the command write it. */
const idOf = ({ id }) => (id <= 0xffffffff ? `@${id}` : `@0x${id.toString(16)}`);

/** The lines that allocate a type, or what is made while an instance of it is: the answers of the page. */
async function linesOf(page, type) {
  const class_name = type.slice(type.lastIndexOf(".") + 1).replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
  const asked = [{ type }, { filter: `focus=^${class_name}\\.__init__$` }];
  const answers = await Promise.all(asked.map((values) => page.ask("report", { what: "allocs", limit: 30, ...values })));
  return answers.flatMap(({ allocations }) => keyed(allocations?.lines ?? [], ({ at }) => functionKey(at)));
}

export async function heap({ files, values, page }) {
  const [file, later] = files.filter((path) => path.endsWith(".heapsnapshot"));
  const ask = (...words) => json(["heap", file, ...words, "--limit", "2000"]);
  const { snapshot, types } = ask("--types");
  const owners = types.flatMap((type) => keyed(type.owners, (row) => `${type.type} ${row.owner ?? ""}`));
  const tables = { snapshot: [["all", snapshot]], heap_types: [counted(types), ...keyed(types, (row) => row.type)], owners };
  const retained = new Map(ask("--dominators").dominators.map((row) => [idOf(row), { retained_bytes: row.retained_bytes, bytes: row.bytes, children: row.children }]));
  if (values.of_type !== undefined && files.length > 0 && files[0].endsWith(".profundo")) {
    tables.type_lines = await linesOf(page, values.of_type);
  }
  switch (values.heap) {
    case "biggest":
      tables.objects = keyed(ask("--biggest").biggest, idOf);
      break;
    case "tree":
      // The command prints the widest branches of the whole tree, the page all of what was opened.
      tables.objects = keyed((await page.ask("heap", { what: "below", limit: 60 })).dominators, idOf);
      tables.objects = tables.objects.map(([key, row]) => [key, { ...row, ...retained.get(key) }]);
      break;
    case "path": {
      const found = ask("--path", values.object);
      tables.ways = [["all", found], ...keyed(found.ways, (_, at) => at)];
      break;
    }
    case "duplicates":
      tables.texts = keyed(ask("--duplicates").duplicates, (row) => row.text);
      break;
    case "difference": {
      const found = json(["heap", file, later, "--limit", "2000"]);
      tables.sizes = [["before", found.before], ["now", found.now]];
      tables.difference = keyed(found.types, (row) => row.type);
      tables.owner_changes = found.types.flatMap((type) => keyed(type.owners, (row) => `${type.type} ${row.owner ?? ""}`));
      tables.objects = keyed(found.largest_new, idOf);
    }
  }
  return tables;
}
