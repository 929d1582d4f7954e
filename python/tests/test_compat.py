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


class TestCompat(unittest.TestCase):
    def run_program(self, code, first="import profundo.compat; profundo.compat.install()\n"):
        done = support.python(first + WORK + code)
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
