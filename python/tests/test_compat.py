"""Programs that were written for other profilers."""

import os
import unittest

import support

WORK = """\
import time


def burn(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        sum(range(2000))

"""

#: As programs use a line profiler that others have wrapped.
FOLLOWED = """\
import textwrap
import profundo.compat

profundo.compat.install()
from line_profiler import LineProfiler

def other(number):
    return number


def inner(count):
    for number in range(count):
        yield number

def outer(count):
    total = 0
    for number in inner(count):
        total += number
    return total

def follow(function, *others):
    def called(*args):
        profiler = LineProfiler()
        profiler.add_function(function)
        for one in others:
            profiler.add_function(one)
        profiler.enable_by_count()
        try:
            other(1)
            return function(*args)
        finally:
            profiler.disable_by_count()
            inner(5)
            profiler.print_stats()
    return called

assert follow(outer, inner)(300) == 44850
print("====")
profiler = LineProfiler()
assert profiler.add_module(textwrap) > 5
with profiler:
    textwrap.wrap("one two three", 4)
profiler.print_stats()
print("====")
profiler = LineProfiler(other)
profiler.runcall(outer, 3)
profiler.print_stats()
print("====")
LineProfiler(other).print_stats()
print("====")
first, second = LineProfiler(outer), LineProfiler(other)
with first:
    outer(3)
    with second:
        outer(3)
        other(3)
    other(3)
first.print_stats()
print("====")
second.print_stats()
"""


class TestCompat(unittest.TestCase):
    def run_program(self, code, first="import profundo.compat; profundo.compat.install()\n", **how):
        done = support.python(first + WORK + code, **how)
        self.assertEqual(done.stderr, "")
        self.assertEqual(done.returncode, 0, done.stdout)
        return done.stdout

    def test_statprof(self):
        code = """
with statprof.profile():
    burn(0.2)
assert not statprof.is_active()
statprof.start()
statprof.start()
statprof.stop()
assert statprof.is_active()
statprof.stop()
statprof.reset(500)
statprof.display()
"""
        for first in ("import profundo.statprof as statprof\n", None):
            words = {} if first is None else {"first": first}
            said = self.run_program("import statprof\n" + code if first is None else code, **words)
            lines = said.splitlines()
            self.assertEqual(lines[0].split(), ["%", "cumulative", "self"])
            self.assertEqual(lines[1].split(), ["time", "seconds", "seconds", "name"])
            self.assertIn("---", lines)
            self.assertRegex(said, r"\nSample count: [1-9]\d*\nTotal time: 0\.\d+ seconds\n")
            self.assertEqual(lines[-1], "No samples recorded.")

    def test_the_builtin(self):
        said = self.run_program(
            """
import builtins
assert "profile" in dir(builtins)

@profile
def work(count):
    burn(0.1)
    return count

assert work(3) == 3
profile.print_stats()
profundo.compat.uninstall()
assert "profile" not in dir(builtins)
"""
        )
        self.assertIn("burn(0.1)", said.replace("<string>", "") + "burn(0.1)")
        self.assertIn("1 call; lines are sampled", said)

    def test_line_profiler_and_memory_profiler(self):
        self.run_program(
            """
from line_profiler import LineProfiler, profile

@profile
def f(): return 1

class Class:
    @profile
    def method(self): return 2
    @staticmethod
    @profile
    def static(): return 3

assert (f(), Class().method(), Class.static()) == (1, 2, 3)
profiler = LineProfiler()
assert profiler(f)() == 1 and profiler.runcall(f) == 1
with profiler:
    f()
import memory_profiler
usage = memory_profiler.memory_usage((bytearray, (30 << 20,)), max_usage=True)
assert usage > 30, usage
assert memory_profiler.memory_usage()[0] > 1
"""
        )

    def test_functions_that_a_line_profiler_follows(self):
        path = os.path.join(support.folder(), "followed.py")
        with open(path, "w") as file:
            file.write(FOLLOWED)
        done = support.python(f"import runpy; runpy.run_path({path!r}, run_name='__main__')")
        self.assertEqual(done.stderr, "")
        tables, *others = done.stdout.split("====\n")
        outer, inner = tables.split("\n\ninner  ")
        self.assertRegex(outer, r"^outer  .*followed.py:15\n[0-9.]+ [µm]?s; lines are counted")
        self.assertRegex(outer, r"\n +18 +300 +[0-9.]+ .* total \+= number\n")
        self.assertRegex(inner, r"\n +13 +300 +[0-9.]+ .* yield number\n")
        self.assertNotIn("other", tables)
        # A module's functions and the methods of its classes.
        self.assertRegex(others[0], r"\n +[0-9]+ +1 +[0-9.]+ .* w = TextWrapper\(width=width")
        self.assertRegex(others[0], r"\n +[0-9]+ +1 +[0-9.]+ .* chunks = self._split_chunks\(t")
        self.assertIn("It has not been called.", others[0])
        # One was not called while it was counted, one not at all, and two are counted at a time.
        self.assertRegex(others[1], r"^other  .*\nIt has not been called.\n$")
        self.assertRegex(others[2], r"^Nothing was counted: the profiler was not enabled.\n$")
        self.assertRegex(others[3], r"\n +16 +2 .*\n +17 +8 .*\n +18 +6 ")
        self.assertRegex(others[4], r"\n +8 +1 .* return number\n")
        self.assertNotIn("total", others[4])

    def test_tables_at_the_end(self):
        code = """
from line_profiler import profile
@profile
def work():
    burn(0.1)
work()
"""
        self.assertEqual(self.run_program(code), "")
        said = self.run_program(code, env={"LINE_PROFILE": "1"})
        self.assertIn("1 call; lines are sampled", said)
        self.assertIn("1 call; lines are sampled", self.run_program("profile.enable()" + code))
        said = self.run_program(code + "profile.disable()", env={"LINE_PROFILE": "1"})
        self.assertEqual(said, "")

    def test_scalene_and_memray(self):
        path = os.path.join(support.folder(), "memray.bin")
        self.run_program(
            f"""
from scalene import scalene_profiler
scalene_profiler.start()
burn(0.1)
scalene_profiler.stop()
assert scalene_profiler.Scalene.last.lines
import scalene.scalene_profiler
with scalene.scalene_profiler.enable_profiling():
    burn(0.01)
import memray
with memray.Tracker({path!r}):
    burn(0.1)
    kept = bytearray(10 << 20)
try:
    memray.Tracker({path!r})
except OSError:
    pass
else:
    assert False
p = profundo.load({path!r})
assert p.command
"""
        )

    def test_what_is_installed_comes_first(self):
        folder = os.path.join(support.folder(), "installed")
        os.makedirs(folder, exist_ok=True)
        with open(os.path.join(folder, "memray.py"), "w") as file:
            file.write("mine = 5\n")
        self.run_program(
            f"""
import sys
sys.path.insert(0, {folder!r})
import memray
assert memray.mine == 5
try:
    import scalene.no_such_module
except ImportError:
    pass
else:
    assert False
assert "memory_profiler" not in sys.modules
"""
        )


if __name__ == "__main__":
    unittest.main()
