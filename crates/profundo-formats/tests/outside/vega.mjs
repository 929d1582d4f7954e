// Compares a chart with the schema of Vega-Lite, and draws it as SVG.
import fs from "node:fs";
import path from "node:path";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const [modules, file] = process.argv.slice(2);
const require = createRequire(path.join(modules, "x.js"));
const load = async name => {
  const entry = JSON.parse(fs.readFileSync(path.join(modules, name, "package.json"))).exports["."];
  const found = typeof entry === "string" ? entry : (entry.default ?? entry.import);
  return import(pathToFileURL(path.join(modules, name, found)));
};
const chart = JSON.parse(fs.readFileSync(file, "utf8"));
const Ajv = require("ajv").default;
const ajv = new Ajv({ strict: false, allErrors: false });
require("ajv-formats").default(ajv);
ajv.addFormat("color-hex", () => true);
const schema = JSON.parse(fs.readFileSync(path.join(modules, "vega-lite/build/vega-lite-schema.json"), "utf8"));
const validate = ajv.compile(schema);
if (!validate(chart)) throw new Error(JSON.stringify(validate.errors.slice(0, 5)));
const vega = await load("vega");
const lite = await load("vega-lite");
const view = new vega.View(vega.parse(lite.compile(chart).spec), { renderer: "none" });
process.stdout.write(await view.toSVG());
