"""Defaults of regions, from the command's own files of settings."""

import os
import shutil
import tempfile
import unittest

import support

CODE = """\
import profundo
options = profundo.profile(wall=None).options
print(options.rate, options.wall, options.memory, options.children)
"""

TEXTS = [
    ("a = \"x\"\nb = 'y\\n'\nc = 1_000\nd = true\n", {"a": "x", "b": "y\\n", "c": 1000, "d": True}),
    (
        "[a.b]\nc = 1 # [d]\n[a.'e f']\ng=[1, 2,\t'x',]\n",
        {"a": {"b": {"c": 1}, "e f": {"g": [1, 2, "x"]}}},
    ),
    ('a.b = "\\u00e4\\n\\"#"\n', {"a": {"b": 'ä\n"#'}}),
    # What is not read is passed over as a whole.
    ('a = """\n[b]\nc = 1\n"""\nd = 2\n', {"d": 2}),
    ("a = [\n  'x]',\n  { b = 1 },\n]\nc = 3\n", {"c": 3}),
    ("a = 1.5\nb = 1979-05-27\nc = { d = 1 }\ne = 4\n", {"e": 4}),
    ("[[a]]\nb = 1\n[c]\nd = 2\n", {"c": {"d": 2}}),
]


class TestDefaults(unittest.TestCase):
    def setUp(self):
        self.folder = os.path.realpath(tempfile.mkdtemp(dir=support.folder()))
        self.addCleanup(shutil.rmtree, self.folder)
        os.makedirs(os.path.join(self.folder, "inner", "most"))

    def write(self, name, text):
        path = os.path.join(self.folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as file:
            file.write(text)
        return path

    def said(self, **env):
        env = dict({"PROFUNDO_NO_CONFIG": None, "XDG_CONFIG_HOME": self.folder + "/home"}, **env)
        done = support.python(CODE, cwd=os.path.join(self.folder, "inner", "most"), env=env)
        self.assertEqual(done.stderr, "")
        return done.stdout.split()

    def test_the_nearest_file_decides(self):
        self.assertEqual(self.said(), ["None", "False", "False", "True"])
        self.write("pyproject.toml", "[tool.profundo]\nrate = 100\nlimit = 5\n")
        self.assertEqual(self.said()[0], "100")
        self.write("inner/pyproject.toml", "[tool.other]\nname = 'profundo'\n")
        self.assertEqual(self.said()[0], "100")
        self.write(
            "inner/most/pyproject.toml",
            "[tool.profundo]\nrate = 200\n[tool.profundo.run]\nrate = 300\nmemory = 'exact'\n",
        )
        self.assertEqual(self.said(), ["300", "False", "exact", "True"])
        self.write(".profundo/config.toml", "wall = true\nno-children = true\n")
        self.assertEqual(self.said(), ["300", "True", "exact", "False"])
        self.assertEqual(self.said(PROFUNDO_NO_CONFIG="1")[0], "None")
        # What is given decides.
        code = CODE.replace("wall=None", "wall=False, rate=7")
        done = support.python(
            code,
            cwd=os.path.join(self.folder, "inner", "most"),
            env={"PROFUNDO_NO_CONFIG": None},
        )
        self.assertEqual(done.stdout.split()[:2], ["7", "False"])

    def test_files_that_others_may_write_are_passed_over(self):
        path = self.write("inner/pyproject.toml", "[tool.profundo]\nrate = 100\n")
        os.chmod(path, 0o666)
        self.assertEqual(self.said()[0], "None")

    def test_wrong_files_change_nothing(self):
        for text in ("[tool.profundo\nrate = 5", "[tool.profundo]\nrate = 'x'\n", "\0\xff"):
            self.write("inner/pyproject.toml", text)
            self.assertEqual(self.said()[0], "None", text)

    def test_the_small_reader(self):
        from profundo._live import toml

        for text, expected in TEXTS:
            self.assertEqual(_without_empty(toml._parsed(text)), expected, text)
        for text in ("[", "=", "a =", "a = [", '"', "[a", "]]", "a = '", 'a = "\\', "[a]b\n"):
            self.assertEqual(_without_empty(toml._parsed(text)), {}, text)


def _without_empty(table):
    """Without the tables that came to nothing."""
    table = {k: _without_empty(v) if isinstance(v, dict) else v for k, v in table.items()}
    return {k: v for k, v in table.items() if v != {}}


if __name__ == "__main__":
    unittest.main()
