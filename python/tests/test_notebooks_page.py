"""The page on notebooks says what is true: its cells run, one after the other."""

import os
import re
import unittest

import support
from test_ipython import run_cells, setUpModule  # noqa: F401

PAGE = os.path.join(support.ROOT, "docs", "notebooks.md")


class TestPage(unittest.TestCase):
    def test_the_cells_run(self):
        with open(PAGE, encoding="utf-8") as file:
            page = file.read()
        texts = [text.rstrip("\n") for text in re.findall(r"```ipython\n(.*?)```", page, re.S)]
        self.assertGreater(len(texts), 7)
        cells = run_cells(texts)
        for text, cell in zip(texts, cells):
            self.assertIsNone(cell["error"], cell)
            # Each of our magics shows something.
            if text.startswith(("%%profundo", "%profundo", "%%bench")):
                self.assertEqual(len(cell["shown"]), 1, cell)
        shown = "".join(cell["out"] for cell in cells)
        shown += "".join(bundle["text/plain"] for cell in cells for bundle in cell["shown"])
        # The heads of its tables are those that are printed.
        heads = [line for line in page.split("\n") if line.endswith("Line  Source")]
        self.assertGreater(len(heads), 1)
        for line in heads:
            self.assertIn(line.strip(), shown)
        self.assertRegex(shown, r"best of 20 +mean ± std\. dev\. +time, first = 1 \(95 % sure\)")

    def test_the_options_are_those_that_there_are(self):
        from profundo._ipython import options

        with open(PAGE, encoding="utf-8") as file:
            page = file.read()
        for name in list(options.PROFUNDO) + list(options.BENCH):
            self.assertRegex(page, rf"`{re.escape(name)}[ `]", name)


if __name__ == "__main__":
    unittest.main()
