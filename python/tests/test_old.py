"""A program that uses the package runs on Pythons before 3.8, too."""

import glob
import os
import subprocess
import unittest

import support

PROGRAM = """\
import profundo

@profundo.profile
def add(a, b): return a + b

@profundo.profile(memory=True)
def double(a): return 2 * a

@profundo.lines
def half(a): return a / 2.0

with profundo.profile("load") as p, profundo.span("request", route="/x"):
    profundo.mark("epoch 3")
    print(add(1, double(half(2))))
profundo.start(output="x.svg")
profundo.pause()
profundo.resume()
stopped = profundo.stop()
print(profundo.is_running())
for ask in (lambda: p.functions, lambda: stopped.save, lambda: profundo.load("x.profundo")):
    try:
        ask()
    except profundo.Error as error:
        print(error)
"""


class TestOldPythons(unittest.TestCase):
    def run_on(self, pattern):
        pythons = glob.glob(os.path.expanduser(f"~/.pyenv/versions/{pattern}/bin/python"))
        if not pythons:
            self.skipTest(f"there is no Python {pattern}")
        path = os.path.join(support.folder(), "old.py")
        with open(path, "w") as file:
            file.write(PROGRAM)
        environment = dict(os.environ, PYTHONPATH=support.SOURCES, PYTHONDONTWRITEBYTECODE="1")
        done = subprocess.run(
            [pythons[0], path],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            universal_newlines=True,
        )
        self.assertEqual(done.stderr, "")
        first, second, *errors = done.stdout.splitlines()
        self.assertEqual((first, second), ("3.0", "False"))
        self.assertEqual(len(errors), 3)
        for error in errors:
            self.assertIn(f"from Python 3.8 on, and this is Python {pattern[:3]}.", error)

    def test_python_2_7(self):
        self.run_on("2.7.*")

    def test_python_3_6(self):
        self.run_on("3.6.*")

    def test_python_3_7(self):
        self.run_on("3.7.*")

    def test_the_names_are_names_of_the_package(self):
        import profundo
        from profundo import _old

        self.assertLessEqual(set(_old.__all__), set(profundo.__all__))


if __name__ == "__main__":
    unittest.main()
