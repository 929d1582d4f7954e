"""The page says what is true: its blocks of Python run, one after the other."""

import contextlib
import io
import os
import re
import subprocess
import sys
import unittest

import support

PAGE = os.path.join(support.ROOT, "docs", "python.md")


class TestPage(unittest.TestCase):
    def setUp(self):
        with open(PAGE, encoding="utf-8") as file:
            self.blocks = re.findall(r"```python\n(.*?)```", file.read(), re.S)

    def test_the_blocks_run(self):
        folder = os.path.join(support.folder(), "page")
        os.makedirs(folder)
        program = os.path.join(support.ROOT, "examples", "start", "app.py")
        for name, orders in ("app", "20"), ("before", "20"), ("after", "30"):
            words = [
                support.command(),
                "record",
                "--no-config",
                "-o",
                name + ".profundo",
                "--",
                sys.executable,
                program,
            ]
            subprocess.run(
                words + [orders],
                cwd=folder,
                check=True,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
            )
        before, names, out = os.getcwd(), {"answer": int, "work": int}, io.StringIO()
        os.environ["PROFUNDO_DIR"] = folder
        os.chdir(folder)
        try:
            for block in self.blocks:
                with contextlib.redirect_stdout(out):
                    exec(compile(block, PAGE, "exec"), names)
        finally:
            os.chdir(before)
            del os.environ["PROFUNDO_DIR"]
        self.assertGreater(len(self.blocks), 4)
        # The last block's comment is its output.
        said = self.blocks[-1].rsplit("#", 1)[1].strip()
        self.assertEqual(out.getvalue().splitlines()[-1], said)
        for name in ("app.svg", "app.pb.gz", "mine.svg", "diff.svg", "both.profundo"):
            self.assertTrue(os.path.getsize(os.path.join(folder, name)), name)

    def test_the_first_block_is_the_program_whose_output_is_shown(self):
        with open(os.path.join(support.ROOT, "e2e", "docs", "hottest.py")) as file:
            self.assertEqual(self.blocks[0], file.read())


if __name__ == "__main__":
    unittest.main()
