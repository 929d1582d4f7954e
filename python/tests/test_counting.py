"""Regions that count: calls, lines and exceptions, exactly."""

import os
import unittest

import support

PROGRAM = """\
import asyncio, sys, threading, time
import profundo


def leaf(number):
    return number + 1


def work(count):
    total = 0
    for number in range(count):
        total += leaf(number)
    return total


def fails(count):
    for number in range(count):
        try:
            int("x")
        except ValueError:
            pass


def generated(count):
    for number in range(count):
        yield leaf(number)


def calls(profile):
    return {one.function: one.calls for one in profile.functions}


def hits(profile):
    return {line.text: line.hits for line in profile.lines if line.file.endswith("counting.py")}


"""


class TestCounting(unittest.TestCase):
    def run_program(self, code, **environment):
        path = os.path.join(support.folder(), "counting.py")
        with open(path, "w") as file:
            file.write(PROGRAM + code)
        code = f"import runpy; runpy.run_path({path!r}, run_name='__main__')"
        done = support.python(code, env=environment)
        self.assertEqual(done.stderr, "")
        self.assertEqual(done.returncode, 0)
        return done.stdout

    def test_calls(self):
        said = self.run_program(
            """
work(3)
with profundo.profile("counted", trace=True) as p:
    work(100)
    sum(generated(5))
    [].append(1)
work(5)
assert p.error is None, p.error
found = calls(p)
assert found["work"] == 1 and found["leaf"] == 105, found
assert found["generated"] == 1, found
rows = {one.function: one for one in p.functions}
assert rows["generated"].resumes == 5, rows["generated"]
assert rows["work"].total_seconds >= rows["work"].self_seconds > 0
names = [name for name in found if "append" in name]
assert len(names) == 1 and found[names[0]] == 1, found
# Nothing of the package's own.
assert not [one for one in p.functions if one.file and "/profundo/_live/" in one.file], found
assert not [name for name in found if "perf_counter" in name or "RLock" in name], found
p.print()
print(p.report("trace", sort="calls", limit=1))
"""
        )
        self.assertIn("ncalls", said)
        self.assertIn("counting.py:5(leaf)", said)
        self.assertNotIn("Next:", said)

    def test_regions_that_overlap_have_their_own(self):
        self.run_program(
            """
a = profundo.profile("a", trace=True)
b = profundo.profile("b", trace=True)
plain = profundo.profile("plain")
with plain:
    with a:
        work(10)
        with b:
            work(20)
            with a:
                work(40)
        with profundo.profile("c", trace=True) as c:
            work(80)
        work(160)
    work(1000)
assert calls(a)["leaf"] == 310 and calls(a)["work"] == 5, calls(a)
assert calls(b)["leaf"] == 60 and calls(b)["work"] == 2, calls(b)
assert calls(c)["leaf"] == 80, calls(c)
with a:
    work(7)
    # An open region has all until now.
    assert calls(a)["leaf"] == 317, calls(a)
    work(1)
assert calls(a)["leaf"] == 318, calls(a)
# The plain region has samples alone.
assert plain.error is None
assert plain.json()["recording"]["measures"] == "cpu"
"""
        )

    def test_a_decorated_function_and_its_threads(self):
        self.run_program(
            """
@profundo.profile(trace=True)
def decorated(count, depth=1):
    if depth:
        decorated(count, depth - 1)
    return work(count)

def other():
    while not is_over:
        work(1)

is_over = False
thread = threading.Thread(target=other)
thread.start()
with profundo.profile("all", trace=True) as whole:
    for _ in range(20):
        decorated(10)
        time.sleep(0.001)
is_over = True
thread.join()
found = calls(decorated.profile)
assert found["decorated"] == 40 and found["leaf"] == 400 and found["work"] == 40, found
# What other threads do meanwhile is in a region of the whole program.
assert calls(whole)["leaf"] > 400 and calls(whole)["decorated"] == 40, calls(whole)
# Regions of one thread begin and end while another one is counted.
def short():
    while not is_over:
        with profundo.profile("short", trace=True):
            work(3)
is_over = False
thread = threading.Thread(target=short)
thread.start()
with profundo.profile("long", trace=True, threads=False) as p:
    for _ in range(200):
        work(100)
        time.sleep(0.0005)
is_over = True
thread.join()
found = calls(p)
assert found["work"] == 200 and found["leaf"] == 20000, found
threads, found = [], {}
def alone(count):
    with profundo.profile(f"of {count}", trace=True) as p:
        work(count)
    found[count] = calls(p)["leaf"]
for count in (50, 60, 70):
    threads.append(threading.Thread(target=alone, args=(count,)))
    threads[-1].start()
for thread in threads:
    thread.join()
assert [found[count] for count in (50, 60, 70)] == [50, 60, 70], found
"""
        )

    def test_children_of_forks_count_nothing(self):
        self.run_program(
            """
import os
def forks():
    time.sleep(0.1)
    children = []
    for _ in range(4):
        child = os.fork()
        if child == 0:
            work(1000)
            fails(10)
            os._exit(0)
        children.append(child)
    for child in children:
        os.waitpid(child, 0)
    return work(7)

for kind in (True, "lines", "exceptions"):
    with profundo.profile("forks", trace=kind) as p:
        forks()
        fails(3)
    assert p.error is None, p.error
    if kind is True:
        rows = {one.function: one for one in p.functions}
        assert rows["leaf"].calls == 7 and rows["work"].calls == 1, calls(p)
        # A child does not end what its parent has begun.
        assert 0.1 <= rows["forks"].total_seconds <= p.elapsed, (rows["forks"], p.elapsed)
        assert sum(row.self_seconds for row in p.functions) <= p.elapsed, p.elapsed
    elif kind == "lines":
        assert hits(p)["return number + 1"] == 7, hits(p)
        assert sum(line.self_seconds for line in p.lines if line.text == "time.sleep(0.1)") < p.elapsed
    else:
        rows = p.json("exceptions")["exceptions"]
        assert [(row["count"], row["end"]) for row in rows] == [(3, "caught")], rows
"""
        )

    def test_lines(self):
        said = self.run_program(
            """
with profundo.profile("counted", trace="lines") as p:
    work(50)
    work(1)
assert p.error is None, p.error
found = hits(p)
assert found["total = 0"] == 2 and found["return total"] == 2, found
assert found["total += leaf(number)"] == 51, found
assert found["for number in range(count):"] == 53, found
assert found["return number + 1"] == 51, found
assert found["work(50)"] == found["work(1)"] == 1, found
assert "work(3)" not in found
line = [line for line in p.lines if line.text == "total = 0"][0]
assert line.self_seconds > 0 and line.function == "work", line
assert not [line for line in p.lines if "/profundo/_live/" in line.file]
p.print()
"""
        )
        self.assertIn("Line #      Hits         Time  Per Hit   % Time  Line Contents", said)
        self.assertIn("total += leaf(number)", said)

    def test_lines_within_regions_that_overlap(self):
        self.run_program(
            """
def one():
    with profundo.profile("b", trace="lines") as b:
        total = 0
        for number in range(7):
            total += number
        with profundo.profile("c", trace="lines") as c:
            work(3)
        work(4)
    return b, c

with profundo.profile("a", trace="lines") as a:
    work(10)
    b, c = one()
found = hits(a), hits(b), hits(c)
assert [one["return number + 1"] for one in found] == [17, 7, 3], found
assert found[1]["total += number"] == found[0]["total += number"] == 7, found
assert "total += number" not in found[2]
"""
        )

    def test_a_region_that_begins_often(self):
        self.run_program(
            """
lines = profundo.profile("lines", trace="lines")
for _ in range(70):
    with lines:
        work(2)
found = hits(lines)
assert found["total = 0"] == 70 and found["return number + 1"] == 140, found
calls_ = profundo.profile("calls", trace=True)
raised = profundo.profile("raised", trace="exceptions")
for _ in range(70):
    with calls_:
        work(2)
    with raised:
        fails(3)
assert calls(calls_)["leaf"] == 140 and calls(calls_)["work"] == 70, calls(calls_)
rows = raised.json("exceptions")["exceptions"]
assert [row["count"] for row in rows] == [210], rows
"""
        )

    def test_exceptions(self):
        said = self.run_program(
            """
with profundo.profile("counted", trace="exceptions") as p:
    fails(12)
    try:
        {}["key"]
    except KeyError:
        pass
assert p.error is None, p.error
rows = p.json("exceptions")["exceptions"]
found = {(row["type"], row["count"], row["end"]) for row in rows}
assert found == {("ValueError", 12, "caught"), ("KeyError", 1, "caught")}, rows
p.print()
"""
        )
        self.assertIn("13 exceptions were raised: 13 caught.", said)

    def test_start_and_stop_with_pauses(self):
        self.run_program(
            """
profundo.start(trace=True)
work(10)
profundo.pause()
work(100)
assert not profundo.is_running()
profundo.resume()
work(20)
p = profundo.stop()
assert calls(p)["leaf"] == 30, calls(p)
assert not profundo.is_running()
"""
        )

    def test_what_does_not_go_together(self):
        self.run_program(
            """
for options in ({"trace": True, "memory": True}, {"trace": "lines", "wall": True},
                {"trace": True, "rate": 10}, {"trace": "words"}):
    try:
        profundo.profile(**options)
    except ValueError as error:
        assert "trace" in str(error), error
    else:
        raise AssertionError(options)
with profundo.profile("calls", trace=True) as a:
    with profundo.profile("lines", trace="lines") as b:
        work(5)
    work(6)
assert calls(a)["leaf"] == 11, calls(a)
assert "lines are not counted: a region that counts calls is open" == str(b.error), b.error
try:
    b.lines
except profundo.Error as error:
    assert "a region that counts calls is open" in str(error)
else:
    raise AssertionError
with b:
    work(2)
"""
        )

    def test_another_tracer_is_left_alone(self):
        self.run_program(
            """
seen = []
if sys.version_info >= (3, 12):
    tools = [tool for tool in (5, 4, 3) if sys.monitoring.get_tool(tool) is None]
    for tool in tools:
        sys.monitoring.use_tool_id(tool, "another")
else:
    sys.setprofile(lambda *event: seen.append(event))
with profundo.profile("counted", trace=True) as p:
    work(5)
before = len(seen)
work(5)
if sys.version_info < (3, 12):
    assert len(seen) > before
    sys.setprofile(None)
sentence = "calls cannot be counted in this process: it has a profiler already, which is left alone"
assert str(p.error) == sentence, p.error
"""
        )

    def test_memory_beside_it(self):
        self.run_program(
            """
with profundo.profile("memory", memory=True) as memory:
    with profundo.profile("a", trace=True) as a:
        work(10)
        # The sums of allocations have the recorder end, and another one follow.
        assert memory.report("allocs")
        work(20)
    work(40)
assert calls(a)["leaf"] == 30, calls(a)
with a:
    with profundo.profile("wall", wall=True) as wall:
        work(3)
assert wall.error is None, wall.error
assert calls(a)["leaf"] == 33, calls(a)
with profundo.profile("exact", memory="exact"):
    with a:
        work(4)
with a:
    work(5)
assert calls(a)["leaf"] == 42, calls(a)
"""
        )

    def test_children_are_not_counted(self):
        self.run_program(
            """
import os
with profundo.profile("counted", trace=True) as p:
    work(10)
    child = os.fork()
    if child == 0:
        work(1000)
        with profundo.profile("of the child", trace=True) as of_child:
            work(5)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    work(20)
assert calls(p)["leaf"] == 30, calls(p)
"""
        )

    def test_files_and_pages(self):
        self.run_program(
            """
import json, os, sys, tempfile
sys.path.insert(0, os.environ["TESTS"])
import support
def carried(bundle):
    return json.dumps(support.carried(bundle["text/html"]))
with profundo.profile("counted", trace=True) as p:
    work(100)
folder = tempfile.mkdtemp()
for name in ("x.svg", "x.profundo", "x.pstats"):
    p.save(os.path.join(folder, name))
import pstats
stats = pstats.Stats(os.path.join(folder, "x.pstats"))
found = {place[2]: row[1] for place, row in stats.stats.items()}
assert found["leaf"] == 100, found
again = profundo.load(os.path.join(folder, "x.profundo"))
assert calls(again)["leaf"] == 100
bundle = p._repr_mimebundle_()
assert "ncalls" in bundle["text/plain"]
assert '"function": "leaf"' in carried(bundle)
with profundo.profile("lines", trace="lines") as lines:
    work(100)
bundle = lines._repr_mimebundle_()
assert "Per Hit" in bundle["text/plain"]
assert '"hits": 100' in carried(bundle) and "total += leaf" in carried(bundle)
with profundo.profile("exceptions", trace="exceptions") as raised:
    fails(3)
assert "ValueError" in carried(raised._repr_mimebundle_())
import shutil
shutil.rmtree(folder)
""",
            TESTS=support.HERE,
        )

    def test_settings(self):
        folder = os.path.join(support.folder(), "counting-settings")
        os.makedirs(folder, exist_ok=True)
        with open(os.path.join(folder, "pyproject.toml"), "w") as file:
            file.write("[tool.profundo.run]\nmemory = true\n\n")
            file.write('[tool.profundo.region]\ntrace = "lines"\n')
        code = (
            f"import os; os.chdir({folder!r})\n"
            + PROGRAM
            + """
with profundo.profile() as p:
    work(5)
assert p.options.trace == "lines" and not p.options.memory, p.options
with profundo.profile(trace=False, memory=True) as p:
    work(5)
assert not p.options.trace and p.options.memory
assert not profundo.profile(wall=True).options.trace

@profundo.lines
def counted():
    return work(3)

counted()
assert counted.profile.is_exact
"""
        )
        done = support.python(code, env={"PROFUNDO_NO_CONFIG": None})
        self.assertEqual((done.stderr, done.returncode), ("", 0))

    def test_a_task_says_what_else_is_counted(self):
        said = self.run_program(
            """
async def counted():
    with profundo.profile("task", trace=True) as p:
        work(10)
        await asyncio.sleep(0.01)
    return p

async def both():
    p, _ = await asyncio.gather(counted(), asyncio.sleep(0.005))
    return p

p = asyncio.run(both())
assert calls(p)["leaf"] == 10, calls(p)
p.print()
"""
        )
        self.assertIn("other tasks of this thread that ran meanwhile are counted, too", said)


if __name__ == "__main__":
    unittest.main()
