"""The package as a whole: its names, its version, and what its import costs."""

import os
import re
import unittest

import support


class TestPackage(unittest.TestCase):
    def test_every_name_is_there(self):
        import profundo

        for name in profundo.__all__:
            self.assertIsNotNone(getattr(profundo, name))
            self.assertIn(name, dir(profundo))
        with self.assertRaises(AttributeError):
            profundo.no_such_name

    def test_names_have_documentation(self):
        import profundo

        for name in profundo.__all__:
            value = getattr(profundo, name)
            self.assertTrue(value.__doc__, name)
            for inner, member in vars(value).items() if isinstance(value, type) else ():
                if not inner.startswith("_") and (callable(member) or isinstance(member, property)):
                    self.assertTrue(member.__doc__, f"{name}.{inner}")

    def test_the_version_is_that_of_the_workspace(self):
        import profundo

        with open(os.path.join(support.ROOT, "Cargo.toml")) as file:
            workspace = re.search(r'\[workspace.package\]\s+version = "(.*)"', file.read())
        self.assertEqual(profundo.__version__, workspace.group(1))

    def test_nothing_is_imported_before_it_is_used(self):
        code = "import sys; b = set(sys.modules); import profundo; print(*(set(sys.modules) - b))"
        done = support.python(code)
        self.assertEqual(done.stdout.split(), ["profundo"], done.stderr)

    def test_endings_are_those_of_the_command(self):
        from profundo import _export

        formats = os.path.join(support.ROOT, "crates", "profundo-formats", "src", "export")
        row = re.compile(r'name: "([\w-]+)",.*?extensions: &\[(.*?)\]', re.S)
        theirs = {}
        for above, _, names in os.walk(formats):
            for name in names:
                with open(os.path.join(above, name), encoding="utf-8") as file:
                    for format, endings in row.findall(file.read()):
                        theirs.update(
                            (ending, format) for ending in re.findall(r'"([^"]+)"', endings)
                        )
        self.assertEqual(theirs, _export.ENDINGS)
        self.assertEqual(set(theirs.values()), {*_export.FORMATS, _export.RECORDING})

    def test_filters_are_those_of_the_command(self):
        from profundo import _profile

        crates = os.path.join(support.ROOT, "crates")
        with open(os.path.join(crates, "profundo-cli/src/options/filters.rs")) as file:
            theirs = set(re.findall(r"^    pub (\w+): ", file.read(), re.M))
        # Parts of the options, with filters of their own.
        theirs -= {"own_code", "stacks"}
        self.assertIn("span", theirs)
        self.assertLessEqual(theirs, set(_profile._FILTERS))

    def test_the_type_marker_is_there(self):
        self.assertTrue(os.path.exists(os.path.join(support.PACKAGE, "py.typed")))


if __name__ == "__main__":
    unittest.main()
