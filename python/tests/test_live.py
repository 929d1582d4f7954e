"""Regions: what is recorded of a program by itself."""

import json
import os
import unittest

import support

#: Work with a name in it, of some CPU time.
WORK = """\
import threading, time
import profundo


def burn(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        sum(range(2000))


def slow(seconds):
    burn(seconds)


def other(seconds):
    burn(seconds)


def share(p, name):
    return sum(row.total_share for row in p.functions if row.function == name)
"""


class TestRegions(unittest.TestCase):
    def run_live(self, code, **options):
        """What a program prints, as it is, with nothing on the standard error."""
        done = support.python(WORK + code, **options)
        self.assertEqual(done.stderr, "")
        self.assertEqual(done.returncode, 0, done.stdout)
        return done.stdout

    def test_a_with_has_its_own_time(self):
        said = self.run_live(
            """
other(0.1)
with profundo.profile("load") as p:
    slow(0.3)
other(0.1)
assert share(p, "slow") > 0.95, p.functions
assert share(p, "other") == 0, p.functions
assert "sum(range(2000))" in [line.text for line in p.lines[:1]], p.lines
assert isinstance(p, profundo.Profile)
seconds = sum(row.self_seconds for row in p.functions)
assert 0.25 < seconds < 0.4, seconds
assert p.count == 1 and 0.3 <= p.elapsed
print(p)
"""
        )
        self.assertIn("Hottest lines", said)
        self.assertNotIn("Next:", said)

    def test_regions_nest(self):
        self.run_live(
            """
with profundo.profile("outer") as outer:
    other(0.15)
    with profundo.profile("inner") as inner:
        slow(0.2)
assert share(inner, "slow") > 0.95 and share(inner, "other") == 0, inner.functions
assert 0.4 < share(outer, "slow") < 0.75, outer.functions
assert 0.25 < share(outer, "other") < 0.6, outer.functions
"""
        )

    def test_a_region_can_be_asked_while_it_is_open(self):
        self.run_live(
            """
with profundo.profile() as p:
    slow(0.2)
    # The commands that answer are children of this process, and count for it while it is open.
    first = [row.total_seconds for row in p.functions if row.function == "slow"]
    slow(0.2)
then = [row.total_seconds for row in p.functions if row.function == "slow"]
assert 0.15 < first[0] < 0.25 and 0.35 < then[0] < 0.45, (first, then)
"""
        )

    def test_threads_belong_to_the_program(self):
        self.run_live(
            """
with profundo.profile() as p:
    threads = [threading.Thread(target=slow, args=(0.3,)) for _ in range(2)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
seconds = sum(row.total_seconds for row in p.functions if row.function == "slow")
assert seconds > 0.2, p.functions
"""
        )

    def test_threads_and_tasks_are_apart(self):
        self.run_live(
            """
import asyncio
found = {}

def check():
    for number, p in found.items():
        expected = 0.1 * (1 + number % 3)
        seconds = sum(row.self_seconds for row in p.functions)
        assert abs(seconds - expected) < 0.03, (number, seconds)
        # Not what all of them used meanwhile.
        assert abs(p.cpu_time - seconds) < 0.01, (number, p.cpu_time, seconds)
        names = ("slow", "other") if number % 2 else ("other", "slow")
        assert share(p, names[0]) > 0.9 and share(p, names[1]) == 0, (number, p.functions)

def work(number):
    with profundo.profile("request") as found[number]:
        for _ in range(10):
            (slow if number % 2 else other)(0.01 * (1 + number % 3))

def burn(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        sum(range(2000))

threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
for thread in threads: thread.start()
for thread in threads: thread.join()
check()
found.clear()

async def answer(number):
    with profundo.profile("request") as found[number]:
        for _ in range(10):
            (slow if number % 2 else other)(0.01 * (1 + number % 3))
            await asyncio.sleep(0)

async def all_of():
    await asyncio.gather(*map(answer, range(6)))

asyncio.run(all_of())
check()
"""
        )

    def test_functions_generators_and_coroutines(self):
        self.run_live(
            """
import asyncio

@profundo.profile
def plain(a, *, b=2):
    "Doc."
    slow(0.05)
    return a + b

@profundo.profile()
def generator(count):
    got = []
    for number in range(count):
        slow(0.02)
        try:
            got.append((yield number))
        except KeyError as error:
            got.append(error)
    return got

@profundo.profile(rate=1000)
async def coroutine(a):
    slow(0.05)
    await asyncio.sleep(0)
    return a

@profundo.profile
async def items():
    for number in range(3):
        yield number
        await asyncio.sleep(0)

class Class:
    @profundo.profile
    @staticmethod
    def static(a): return a
    @profundo.profile
    @classmethod
    def of_class(cls, a): return cls, a
    @profundo.profile
    @property
    def value(self): return 5

assert plain(1) == 3 and plain.__name__ == "plain" and plain.__doc__ == "Doc."
assert plain.profile.count == 1 and plain.profile.name == "plain"

def through():
    return (yield from generator(4))

g = through()
assert next(g) == 0 and g.send("x") == 1 and next(g) == 2
assert g.throw(KeyError("k")) == 3
try:
    next(g)
except StopIteration as end:
    assert end.value[:2] == ["x", None] and repr(end.value[2]) == "KeyError('k')", end.value
g = generator(9)
next(g)
g.close()
assert list(generator(3)) == [0, 1, 2]
assert asyncio.run(coroutine(7)) == 7 and asyncio.iscoroutinefunction(coroutine)

async def all_of():
    return [item async for item in items()]

assert asyncio.run(all_of()) == [0, 1, 2]
assert Class.static(1) == 1 and Class.of_class(2) == (Class, 2) and Class().value == 5
assert profundo.profile(Class().of_class)(3) == (Class, 3)
assert not profundo.is_running()
assert share(plain.profile, "slow") > 0.9, plain.profile.functions

@profundo.profile
def fails(): raise ValueError("v")

try:
    fails()
except ValueError as error:
    assert str(error) == "v"
assert not profundo.is_running()
for wrong in (int, 5):
    try:
        profundo.profile(wrong)
    except TypeError:
        pass
    else:
        assert wrong == 0
"""
        )

    def test_start_and_stop_pause_and_resume(self):
        self.run_live(
            """
profundo.start("whole")
assert profundo.is_running()
slow(0.2)
profundo.pause()
assert not profundo.is_running()
other(0.3)
profundo.resume()
slow(0.1)
p = profundo.stop()
assert p.name == "whole" and not profundo.is_running()
assert share(p, "other") < 0.1 and share(p, "slow") > 0.8, p.functions
try:
    profundo.stop()
except profundo.Error as error:
    assert "nothing to stop" in str(error)
else:
    assert False
"""
        )

    def test_files(self):
        path = os.path.join(support.folder(), "live")
        self.run_live(
            f"""
with profundo.profile() as p:
    slow(0.2)
p.save({path + ".svg"!r})
p.save({path + ".speedscope.json"!r})
p.save({path + ".profundo"!r})
q = profundo.load({path + ".profundo"!r})
assert share(q, "slow") > 0.8
print(p.json("functions")["profundo"]["report"], p.select(function="slow").functions[0].function)
assert "text/html" in p._repr_mimebundle_()
"""
        )
        with open(path + ".speedscope.json") as file:
            self.assertIn("profiles", json.load(file))

    def test_outputs_at_exit(self):
        output = os.path.join(support.folder(), "exit.folded")
        other = os.path.join(support.folder(), "open.folded")
        self.run_live(
            f"""
@profundo.profile(output={output!r})
def work(): slow(0.2)
work()
profundo.start()
other(0.2)
""",
            env={"PROFUNDO_OUTPUT": other},
        )
        with open(output) as file:
            text = file.read()
        self.assertIn(";slow", text)
        self.assertNotIn(";other", text)
        with open(other) as file:
            self.assertIn(";other", file.read())
        # Without an output, nothing is left.
        before = set(os.listdir(support.folder()))
        self.run_live("profundo.start(); slow(0.1)", cwd=support.folder())
        self.assertEqual(set(os.listdir(support.folder())), before)

    def test_print_at_exit(self):
        code = "@profundo.profile(print=True)\ndef work(): slow(0.2)\nwork()"
        done = support.python(WORK + code)
        self.assertEqual(done.returncode, 0)
        self.assertEqual(done.stdout, "")
        self.assertIn("Hottest lines", done.stderr)

    def test_a_short_region_says_so(self):
        said = self.run_live(
            """
with profundo.profile("long"): slow(0.2)
with profundo.profile("short") as p: pass
assert p.lines == [] and p.functions == []
print(p.report("functions"))
"""
        )
        self.assertIn("No sample was taken in the region 'short'", said)
        self.assertIn("slow", said)

    def test_a_forked_child_goes_on(self):
        self.run_live(
            """
import os, sys
with profundo.profile() as p:
    child = os.fork()
    if child == 0:
        with profundo.profile():
            slow(0.3)
        sys.exit(3)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 3 if sys.version_info >= (3, 9) \\
        else os.WEXITSTATUS(os.waitpid(child, 0)[1]) == 3
    other(0.1)
assert share(p, "slow") > 0.4, p.functions
assert share(p, "other") > 0.05, p.functions
"""
        )

    def test_all_is_off(self):
        said = self.run_live(
            """
def f(): pass
assert profundo.profile(f) is f and profundo.profile(memory=True)(f) is f
assert profundo.lines(f) is f and profundo.lines(exact=True)(f) is f
with profundo.profile() as p: pass
assert p.lines == [] and p.functions == []
p.save("no-such-folder/x.svg")
profundo.start()
q = profundo.stop()
print(p, q)
import sys
assert "profundo._live.session" not in sys.modules or not profundo.is_running()
""",
            env={"PROFUNDO": "0"},
        )
        self.assertIn("PROFUNDO=0", said)

    def test_what_cannot_be_recorded_is_said_when_it_is_asked(self):
        self.run_live(
            """
with profundo.profile() as p:
    done = True
assert done and isinstance(p.error, profundo.Error)
try:
    p.print()
except profundo.Error as error:
    assert "no program" in str(error), error
else:
    assert False
""",
            env={"PROFUNDO_BINARY": "/no/such/file"},
        )

    def test_wrong_options_are_refused(self):
        self.run_live(
            """
for options, kind in (({"speed": 1}, TypeError), ({"rate": "x"}, ValueError),
                      ({"memory": "all"}, ValueError)):
    try:
        profundo.profile(**options)
    except kind:
        pass
    else:
        assert not options
"""
        )

    def test_under_run_a_region_is_a_span(self):
        program = os.path.join(support.folder(), "under_run.py")
        with open(program, "w") as file:
            file.write(
                WORK
                + """
with profundo.profile("load") as p:
    slow(0.1)
print(p, p.lines)
p.save("no-such-folder/x.svg")
"""
            )
        import subprocess
        import sys

        words = [support.command(), "record", "--no-config", "-o", program + ".profundo", "--"]
        done = subprocess.run(
            words + [sys.executable, program],
            env=dict(os.environ, PYTHONPATH=support.SOURCES),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            universal_newlines=True,
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("recorded by", done.stdout)
        self.assertIn("span 'load'", done.stdout)

    def test_an_import_is_light(self):
        code = "import sys; b = set(sys.modules); import profundo; profundo.profile; "
        done = support.python(code + "print(*sorted(set(sys.modules) - b))")
        for heavy in ("subprocess", "inspect", "dataclasses", "json", "tempfile", "asyncio"):
            self.assertNotIn(heavy, done.stdout.split(), done.stdout)


if __name__ == "__main__":
    unittest.main()
