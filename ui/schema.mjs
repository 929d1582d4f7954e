// The types of reports, from the page that describes their JSON. A test of the command compares
// that page with what is written, so the types are right as well.

const PLAIN = { number: "number", text: "string", bool: "boolean" };

/** TypeScript for the schema in `docs/json.md`. */
export function types(page) {
  const schema = page.split("```schema\n")[1].split("```")[0];
  const objects = new Map();
  for (const line of schema.split("\n").filter((line) => line.trim() !== "")) {
    const [name, members] = line.split(" = ");
    objects.set(name, (objects.get(name) ?? []).concat(members.split(", ")));
  }
  const out = [
    "// The JSON of reports. Made by `npm run build` from docs/json.md: do not edit.",
    "",
  ];
  for (const [name, members] of objects) {
    out.push(`export interface ${title(name)} {`);
    const seen = new Set();
    for (const member of expanded(objects, members)) {
      if (!seen.has(member.name)) {
        seen.add(member.name);
        out.push(`  ${member.name}${member.maybe ? "?" : ""}: ${member.type};`);
      }
    }
    out.push("}", "");
  }
  return out.join("\n");
}

function expanded(objects, members) {
  const all = [];
  for (const member of members) {
    const [name, type] = member.split(": ");
    if (type !== undefined) {
      all.push({
        name: name.replace("?", ""),
        maybe: name.endsWith("?"),
        type: typeOf(type.trim()),
      });
      continue;
    }
    // `self_ amount` stands for the members of `amount` with `self_` in front.
    const words = member.trim().split(" ");
    const [prefix, object] = words.length === 2 ? words : ["", words[0]];
    for (const inner of expanded(objects, objects.get(object))) {
      all.push({ ...inner, name: prefix + inner.name });
    }
  }
  return all;
}

function typeOf(type) {
  if (type.endsWith("?")) {
    return `${typeOf(type.slice(0, -1))} | null`;
  }
  if (type.startsWith("[")) {
    return `${typeOf(type.slice(1, -1))}[]`;
  }
  return PLAIN[type] ?? title(type);
}

function title(name) {
  return name.replace(/(^|_)([a-z])/g, (_, __, letter) => letter.toUpperCase());
}
