// Numbers of the page, read back. Each has `data-number`, the member that it comes from, and the
// keys of its row and of its table. Its text must say the number, too, in the unit that it names.

import assert from "node:assert/strict";

/** All numbers that the page shows in a part of it. */
export function numbersIn(page, within = "main") {
  return page.page.evaluate((within) => {
    const root = document.querySelector(within);
    // The title of a cell's column; a column without one belongs to the one before it.
    const columnOf = (cell) => {
      const heads = [...(cell?.closest("table")?.querySelectorAll("thead th") ?? [])];
      return heads.slice(0, (cell?.cellIndex ?? -1) + 1).map((head) => head.textContent.replace(/[▴▾]/, "").trim()).filter((title) => title !== "").pop() ?? "";
    };
    return [...root.querySelectorAll("[data-number]")].map((element) => ({
      column: columnOf(element.closest("td")),
      table: element.closest("[data-table]")?.dataset.table ?? "",
      row: element.closest("[data-row]")?.dataset.row ?? "",
      is: element.dataset.is ?? "",
      unit: element.dataset.unit ?? "",
      number: Number(element.dataset.number),
      text: element.textContent.trim(),
    }));
  }, within);
}

/** Texts that look like a number, and numbers that name no member: they cannot be read back. */
export function loose(page, within = "main") {
  return page.page.evaluate((within) => {
    // Words of reports, code, names, numbers that name something, and scales of drawings.
    const words = "[data-number], code, pre, .verdict, .notes, .refusal, .command, .command-words, .report-words, .u-legend, a, button, select, option, svg, .track, .plot, .as-table th, bdi, .where, .name, b[title], .chip, footer b";
    const root = document.querySelector(within);
    const found = [...root.querySelectorAll("[data-number]:not([data-is])")].map((element) => `${element.textContent} has no member`);
    const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
      // A number alone, or with a unit: `95 of 100 cases` is a way of speaking.
      const text = node.textContent.replace(/\b95 (times in|of) 100\b|\b95 % range\b|\b4 KiB\b/g, "");
      const isNumber = /(^|[\s(±+−])\d[\d.\u202f]*(\s?(%|ns|µs|ms|s|min|h|B|kB|MB|GB))?(?=$|[\s,.;:)×])/.test(text);
      if (isNumber && node.parentElement.closest(words) === null && !node.parentElement.matches("td:not(.number), td.soft, b.named, li > b:only-child")) {
        found.push(`${node.parentElement.tagName.toLowerCase()}.${node.parentElement.className}: ${node.textContent.trim().slice(0, 80)}`);
      }
    }
    return found;
  }, within);
}

const UNITS = {
  "%": 0.01, ns: 1e-9, µs: 1e-6, ms: 1e-3, s: 1, B: 1, kB: 1e3, MB: 1e6, GB: 1e9,
};

/** The units that a text may have, by what the number is. */
const KINDS = [
  [/share|probability/, /^%$/],
  [/per_second/, /B$/],
  [/seconds$/, /s$/],
  [/bytes$/, /B$/],
];

/**
 * Checks that a text says a number: as many digits as are shown must be right. `what` ends with the
 * member's name; `unit` is that of a picture, whose times are nanoseconds.
 */
export function checkText(given, shownText, what, unit = "") {
  if (shownText === "") {
    return;
  }
  const number = unit === "time" ? given / 1e9 : unit === "thousandths" ? given / 1000 : given;
  const text = shownText.replace(/^\+/, "").replace(/\/s$/, "");
  assert.equal(shownText.endsWith("/s"), /per_second/.test(what), `${what}: ${shownText}`);
  assert.ok(!shownText.startsWith("+") || number > 0, `${what}: ${shownText} for ${number}`);
  const share = /^<0\.1 %$/.test(text);
  if (share) {
    assert.ok(number > 0 && number < 0.0006, `${what}: ${text} for ${number}`);
    return;
  }
  const minutes = /^(\d+) min (\d+) s$/.exec(text);
  if (minutes !== null) {
    assert.ok(Math.abs(60 * Number(minutes[1]) + Number(minutes[2]) - number) <= 0.51, `${what}: ${text} for ${number}`);
    return;
  }
  const parts = /^(−?)([\d\u202f]+)(?:\.(\d+))?(?:\s(%|ns|µs|ms|s|B|kB|MB|GB))?$/.exec(text);
  assert.ok(parts !== null, `${what}: “${text}” is no number`);
  const [, sign, whole, digits = "", shownUnit] = parts;
  const is = what.split(" ").pop().replace(/_(low|high|before|now)$/, "");
  const kind = { time: /s$/, seconds: /s$/, bytes: /B$/, thousandths: /^%$/ }[unit] ?? (unit === "" ? (KINDS.find(([name]) => name.test(is))?.[1] ?? /^$/) : /^$/);
  assert.ok(kind.test(shownUnit ?? ""), `${what}: “${text}” has another unit`);
  const scale = shownUnit === undefined ? 1 : UNITS[shownUnit];
  const shown = Number(`${whole.replaceAll("\u202f", "")}.${digits || "0"}`) * scale * (sign === "" ? 1 : -1);
  const half = 0.5 * scale * 10 ** -digits.length;
  assert.ok(Math.abs(shown - number) <= half * 1.001 + 1e-12, `${what}: ${text} for ${number}`);
}

/** A member, or a member of one: `total.bytes`. */
function memberOf(row, is) {
  return is.split(".").reduce((found, name) => found?.[name], row);
}

/**
 * Compares numbers with rows of reports. `tables` has, by table, a list of `[key, row]`. Where
 * several rows have one key, one of them must have the number.
 */
export function compare(numbers, tables, what) {
  for (const { table, row, is, number, text, column, unit } of numbers) {
    const name = `${what}: ${table} ${row.slice(0, 120)} ${is}`;
    const isOther = (title, prefix) => column === title && !is.startsWith(prefix);
    assert.ok(!isOther("Self", "self_") && !isOther("Total", "total_"), `${name} is below “${column}”`);
    const known = tables[table];
    assert.ok(known !== undefined, `${name}: the test knows no such table`);
    const rows = known.filter(([key]) => key === row).map(([, row]) => row);
    assert.ok(rows.length > 0, `${name}: the command reports no such row`);
    assert.ok(rows.some((row) => memberOf(row, is) === number), `${name}: the page has ${number}, the command ${rows.map((row) => memberOf(row, is)).join(" or ")}`);
    checkText(number, text, name, unit);
  }
}
