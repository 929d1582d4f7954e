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
      number: Number(element.dataset.number),
      text: element.textContent.trim(),
    }));
  }, within);
}

/** Texts that look like a number with a unit and are no number that can be read back. */
export function loose(page) {
  return page.page.evaluate(() => {
    // Words of reports, code, names, and scales of drawings may have numbers in them.
    const words = "[data-number], code, pre, .verdict, .notes, .refusal, .command, a, button, select, option, svg, .time-track";
    const walker = document.createTreeWalker(document.querySelector("main"), NodeFilter.SHOW_TEXT);
    const found = [];
    for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
      const isNumber = /\d\s?(%|ns|µs|ms|s|min|B|kB|MB|GB)(?![\w])/.test(node.textContent);
      if (isNumber && node.parentElement.closest(words) === null) {
        found.push(node.textContent.trim());
      }
    }
    return found;
  });
}

const UNITS = {
  "%": 0.01, ns: 1e-9, µs: 1e-6, ms: 1e-3, s: 1, B: 1, kB: 1e3, MB: 1e6, GB: 1e9,
};

/** Checks that a text says a number: as many digits as are shown must be right. */
export function checkText(number, text, what) {
  if (text === "") {
    return;
  }
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
  const [, sign, whole, digits = "", unit] = parts;
  const kind = /share|probability$/.test(what) ? /^%$/ : /seconds$/.test(what) ? /s$/ : /bytes(_per_second)?$/.test(what) ? /B$/ : /^$/;
  assert.ok(kind.test(unit ?? ""), `${what}: “${text}” has another unit`);
  const scale = unit === undefined ? 1 : UNITS[unit];
  const shown = Number(`${whole.replaceAll("\u202f", "")}.${digits || "0"}`) * scale * (sign === "" ? 1 : -1);
  const half = 0.5 * scale * 10 ** -digits.length;
  assert.ok(Math.abs(shown - number) <= half * 1.001 + 1e-12, `${what}: ${text} for ${number}`);
}

/**
 * Compares numbers with rows of reports. `tables` has, by table, a list of `[key, row]`. Where
 * several rows have one key, one of them must have the number.
 */
export function compare(numbers, tables, what) {
  for (const { table, row, is, number, text, column } of numbers) {
    // What names no member comes from an answer that no report has, such as the timeline's.
    if (is === "") {
      continue;
    }
    const name = `${what}: ${table} ${row.slice(0, 120)} ${is}`;
    const isOther = (title, prefix) => column === title && !is.startsWith(prefix);
    assert.ok(!isOther("Self", "self_") && !isOther("Total", "total_"), `${name} is below “${column}”`);
    const known = tables[table];
    assert.ok(known !== undefined, `${name}: the test knows no such table`);
    const rows = known.filter(([key]) => key === row).map(([, row]) => row);
    assert.ok(rows.length > 0, `${name}: the command reports no such row`);
    assert.ok(rows.some((row) => row[is] === number), `${name}: the page has ${number}, the command ${rows.map((row) => row[is]).join(" or ")}`);
    if (!["weight", "own"].includes(is)) {
      checkText(number, text, name);
    }
  }
}
