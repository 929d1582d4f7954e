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
import asyncio, inspect
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
import asyncio, inspect

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
assert asyncio.run(coroutine(7)) == 7 and inspect.iscoroutinefunction(coroutine)

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

    def test_each_allocation_is_counted_in_a_region(self):
        self.run_live(
            """
with profundo.profile(memory="exact") as p:
    kept = [bytearray(1000) for _ in range(1000)]
screen = p.report().splitlines()
total = next(line for line in screen if line.startswith("Memory: "))
number, unit = total.split()[1:3]
assert unit == "MB" and 1.0 < float(number) < 1.5, total
head = next(at for at, line in enumerate(screen) if line.endswith("  Lines that allocate"))
size, unit = screen[head + 1].split()[1:3]
assert unit == "MB" and float(size) >= 1.0, screen[head + 1]
"""
        )

    def test_a_function_has_the_allocations_of_all_its_calls(self):
        self.run_live(
            """
kept = []
@profundo.profile(memory="exact")
def call(): kept.append(bytearray(1000000))
@profundo.profile(memory="exact")
def steps():
    for _ in range(4):
        kept.append(bytearray(500000))
        yield
def allocated(region):
    line = next(line for line in region.report().splitlines() if line.startswith("Memory: "))
    number, unit = line.split()[1:3]
    assert unit == "MB", line
    return float(number)
for _ in range(3):
    call()
    kept.append(bytearray(7000000))
assert 3.0 <= allocated(call.profile) < 3.1, call.profile.report()
for _ in steps(): kept.append(bytearray(7000000))
assert 2.0 <= allocated(steps.profile) < 2.1, steps.profile.report()
"""
        )

    def test_a_region_behind_many_short_ones_has_all_its_time(self):
        self.run_live(
            """
@profundo.profile
def numbers():
    yield from range(5000)
assert sum(numbers()) == sum(range(5000))
with profundo.profile() as p:
    slow(0.2)
    other(0.1)
assert 0.2 < p.cpu_time < 0.45, p.cpu_time
assert share(p, "other") > 0.15, p.functions
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

    def test_a_file_of_a_region_is_a_recording_of_it_alone(self):
        path = os.path.join(support.folder(), "part")
        self.run_live(
            f"""
other(0.15)
with profundo.profile("load") as p:
    slow(0.2)
    with profundo.span("inner"): slow(0.1)
other(0.15)
with profundo.profile("again") as q:
    slow(0.3); other(0.1)
p.save({path + ".profundo"!r})
saved = profundo.load({path + ".profundo"!r})
def rows(p): return [(row.function, row.self_samples, row.self_share) for row in p.functions]
assert rows(saved) == rows(p), (rows(saved), rows(p))
assert [row.total_seconds for row in saved.lines] == [row.total_seconds for row in p.lines]
assert share(saved, "other") == 0 and 0.25 < saved.cpu_time < 0.45, saved.cpu_time
assert abs(saved.duration - p.elapsed) < 0.01, (saved.duration, p.elapsed)
assert "load" in saved.report("spans") and "again" not in saved.report("spans")
assert saved.json("spans")["spans_count"] == 2, saved.json("spans")
diff = profundo.diff(p, q)
grown = [row.name for row in diff.rows if row.by == "function" and row.own.change > 0.05]
assert "slow" in diff.report() and "other" in str(diff), diff
both = profundo.merge(p, q)
assert 0.3 < share(both, "slow") and 0.05 < share(both, "other"), both.functions
assert abs(both.cpu_time - p.cpu_time - q.cpu_time) < 0.02
some = p.select(function="slow")
some.save({path + "-slow.profundo"!r})
assert rows(profundo.load({path + "-slow.profundo"!r})) == rows(some)
assert profundo.diff(some, p).whole.after > 0
"""
        )

    def test_every_kind_of_file_and_table(self):
        folder = os.path.join(support.folder(), "kinds")
        os.mkdir(folder)
        self.run_live(
            f"""
import os
with profundo.profile("work") as p:
    slow(0.3)
with profundo.profile("empty") as nothing:
    pass
kinds = "svg html json txt folded heatmap.svg graph.svg dot pb.gz speedscope.json profundo".split()
for kind in kinds:
    path = os.path.join({folder!r}, "x." + kind)
    p.save(path)
    # A short run may have one stack only.
    assert os.path.getsize(path) > 30, kind
    p.save(path)
    if kind == "profundo": continue
    try:
        nothing.save(path + "." + kind)
    except profundo.Error as error:
        assert str(error).startswith("No sample was taken in the region 'empty'"), (kind, error)
    else:
        assert False, kind
    assert not os.path.exists(path + "." + kind), kind
nothing.save(os.path.join({folder!r}, "nothing.profundo"))
try:
    p.save(os.path.join({folder!r}, "x.docx"))
except profundo.Error as error:
    assert ".svg" in str(error) and ".html" in str(error)
else:
    assert False
for by, part in [("line", "sum(range(2000))"), ("function", "slow"), ("thread", "slow")]:
    assert part in p.report(by=by), by
try:
    import pandas
except ImportError:
    pass
else:
    assert len(p.to_pandas()) == len(p.functions) and len(nothing.to_pandas("lines")) == 0
"""
        )
        with open(os.path.join(folder, "x.html")) as file:
            page = file.read()
        self.assertTrue(page.startswith("<!doctype html>"))
        self.assertIn("sum(range(2000))", json.dumps(support.carried(page)))

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
for _ in range(20):
    with profundo.profile("short") as p: pass
    if p.lines == [] and p.functions == []: break
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
other(0.1)
with profundo.profile("again", threads=False) as q:
    slow(0.15)
assert share(p, "slow") > 0.9 and share(p, "other") == 0, p.functions
assert share(q, "slow") > 0.9 and 0.1 < q.cpu_time < 0.25, (q.functions, q.cpu_time)
p.save(__file__ + ".svg")
p.save(__file__ + ".part.profundo")
assert share(profundo.load(__file__ + ".part.profundo"), "slow") > 0.9
import os
child = os.fork()
if child == 0:
    with profundo.profile() as r: other(0.1)
    assert share(r, "other") > 0.9, r.functions
    os._exit(7)
assert os.waitpid(child, 0)[1] == 7 << 8
try:
    assert False, os.wait()
except ChildProcessError:
    pass
print(p)
"""
            )
        done = self.recorded("record", program)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("Only: the region 'load'", done.stdout)
        self.assertTrue(os.path.exists(program + ".svg"))
        document = self.report(program, "functions")
        # The recording goes on, and what reads it is not in it.
        self.assertEqual(document["recording"]["processes"], 2)
        names = {row["function"] for row in document["functions"]}
        self.assertTrue({"slow", "other"} <= names)

    def test_under_trace_a_region_says_where_its_figures_are(self):
        program = os.path.join(support.folder(), "under_trace.py")
        with open(program, "w") as file:
            file.write(
                WORK
                + """
with profundo.profile("load") as p:
    slow(0.01)
assert p.lines == [] and p.functions == []
p.save(__file__ + ".svg")
print(p)
"""
            )
        done = self.recorded("trace", program)
        self.assertEqual(done.returncode, 0, done.stderr)
        said = [line for line in done.stdout.split("\n") if "the span 'load'" in line]
        self.assertEqual(len(said), 1, done.stdout)

    def recorded(self, verb, program):
        import subprocess
        import sys

        words = [support.command(), verb, "--no-config", "-o", program + ".profundo", "--"]
        return subprocess.run(
            words + [sys.executable, program],
            env=dict(os.environ, PYTHONPATH=support.SOURCES),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            universal_newlines=True,
        )

    def report(self, program, what):
        import subprocess

        words = [support.command(), "report", program + ".profundo", what, "--json", "--no-config"]
        return json.loads(subprocess.check_output(words))

    def test_an_import_is_light(self):
        code = "import sys; b = set(sys.modules); import profundo; profundo.profile; "
        done = support.python(code + "print(*sorted(set(sys.modules) - b))")
        for heavy in ("subprocess", "inspect", "dataclasses", "json", "tempfile", "asyncio"):
            self.assertNotIn(heavy, done.stdout.split(), done.stdout)


if __name__ == "__main__":
    unittest.main()
