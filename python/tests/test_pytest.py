"""The pytest plugin, in runs of pytest on small suites."""

import glob
import json
import os
import re
import subprocess
import sys
import unittest
import xml.etree.ElementTree as ElementTree

import support

WORK = """\
import time


def slow(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        sum(range(2000))  # the line to blame


def names(count):
    return [f"name {number}" for number in range(count)]
"""

HEAVIER = """

def heavier(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        names(500)
"""

SUITE = """\
import asyncio, threading
import pytest, work


@pytest.fixture
def data():
    work.slow(0.15)
    yield 1
    work.slow(0.1)


def test_quick(): pass
def test_slow(): work.slow(0.4)
def test_phases(data): work.slow(0.2)
def test_thread():
    thread = threading.Thread(target=work.slow, args=(0.3,))
    thread.start()
    thread.join()
@pytest.mark.parametrize("text", ["a", "b/c", "d::e*", "f=g"])
def test_param(text): pass
@pytest.mark.xfail
def test_xfail(): assert False
@pytest.mark.skip
def test_skip(): pass
def test_fails(): assert work.names(1) == []
"""

LIMITS = """\
import time
import pytest, work

KEPT = []


@pytest.mark.profundo(max_time="60 s", max_memory="50 MB", max_leak="1 MB")
def test_within(): work.names(100)
@pytest.mark.profundo(max_time="20 ms")
def test_time(): time.sleep(0.05)
@pytest.mark.profundo(max_memory="1 MB")
def test_memory(): work.names(100_000)
@pytest.mark.profundo(max_leak=4000)
def test_leak(): KEPT.append(bytearray(5000))
@pytest.mark.profundo(max_leak=4000)
def test_no_leak(): bytearray(5_000_000)
@pytest.mark.limit_memory("1 MB")
def test_of_memray(): work.names(100_000)
@pytest.mark.limit_memory("1 MB")
def test_of_memray_within(): bytearray(1_010_000)
@pytest.mark.limit_leaks("2 KB")
def test_leaks_of_memray(): KEPT.append(bytearray(5000))
@pytest.mark.limit_leaks("2 KB", filter_fn=lambda stack: stack.frames[0].function != "allowed")
def test_leaks_of_memray_filtered():
    def allowed(): KEPT.append(bytearray(5000))
    allowed()
@pytest.mark.profundo(max_memory="1 MB")
@pytest.mark.xfail
def test_xfail_passes(): work.names(100_000)
@pytest.mark.profundo(max_speed=3)
def test_wrong_mark(): pass
@pytest.mark.profundo(max_time="3 parsecs")
def test_wrong_amount(): pass
def test_part(profundo):
    with profundo("inner") as part:
        work.slow(0.02)
    assert 0.02 <= part.cpu_seconds and part.cpu_seconds / 3 < part.seconds
def test_part_limit(profundo):
    with profundo("inner", max_time="5 ms"):
        time.sleep(0.02)
"""

COUNTED = """\
import threading
from itertools import repeat
import pytest


# Each has one allocation.
def blocks(count):
    for _ in repeat(None, count):
        bytes(100)


def within(count): return pytest.mark.profundo(max_allocations=count)


@within(10_050)
def test_within(): blocks(10_000)
@within(9_999)
def test_above(): blocks(10_000)
@within(9_999)
@pytest.mark.parametrize("count", [9_900, 10_100])
def test_each(count): blocks(count)
class TestClass:
    @within(1)
    def test_nothing(self): pass
    @within(19_999)
    def test_thread(self):
        thread = threading.Thread(target=blocks, args=(10_000,))
        thread.start()
        thread.join()
        blocks(10_000)
def test_without_a_limit(): blocks(20_000)
"""

BENCHMARKS = """\
import work

CALLS = []


def test_call(benchmark):
    assert benchmark(lambda: CALLS.append(1) or work.names(10)) == work.names(10)
def test_pedantic(benchmark):
    assert benchmark.pedantic(len, args=([1, 2],), rounds=7, iterations=3) == 2
def test_calls():
    print("calls", len(CALLS))
"""


class Runs(unittest.TestCase):
    """Runs pytest, each suite in a folder of its own."""

    packages = ("pytest", "pytest-xdist", "pytest-asyncio")

    @classmethod
    def setUpClass(cls):
        cls.installed = support.packages(*cls.packages)

    def suite(self, name, **files):
        folder = os.path.join(support.folder(), name)
        os.makedirs(folder, exist_ok=True)
        for file, text in dict(files, work=WORK).items():
            with open(os.path.join(folder, file + ".py"), "w") as opened:
                opened.write(text)
        return folder

    def pytest(self, folder, *words, plugin=True, **environment):
        """A run of pytest: its exit code, what it prints, and the outcome of each test."""
        report = os.path.join(folder, "report.xml")
        path = os.pathsep.join([support.SOURCES, self.installed])
        command = [sys.executable, "-W", "ignore", "-m", "pytest", "-p", "no:cacheprovider"]
        command += ["-q", "--junitxml", report] + (["-p", "profundo._pytest"] if plugin else [])
        done = subprocess.run(
            command + list(words),
            cwd=folder,
            env=dict(os.environ, PYTHONPATH=path, COLUMNS="100", **environment),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            universal_newlines=True,
        )
        outcomes = {}
        if os.path.exists(report):
            for case in ElementTree.parse(report).iter("testcase"):
                tags = [child.tag for child in case if not child.tag.startswith("system")]
                outcomes[case.get("name")] = tags or ["passed"]
            os.remove(report)
        return done.returncode, done.stdout + done.stderr, outcomes

    def rows(self, said, title):
        """The rows of a table with their indented lines: by the name of the test."""
        found, name = {}, None
        for line in said.partition(title + "\n")[2].split("\n"):
            match = re.match(r"\s*[-\d.–].*\s(\S+::.+)$", line)
            if match and not line.startswith(" " * 8):
                name = match[1].split("::", 1)[1]
                found[name] = [line]
            elif line.startswith(" " * 8) and name:
                found[name].append(line)
            else:
                break
        return found


class TestInert(Runs):
    def test_without_the_option_nothing_changes(self):
        folder = self.suite("inert", test_it=SUITE)
        without = self.pytest(folder, plugin=False)
        inert = self.pytest(folder)
        self.assertEqual(inert[0], without[0])
        self.assertEqual(inert[2], without[2])
        self.assertNotIn("= profundo =", inert[1])

    def test_nothing_is_imported(self):
        code = (
            "import sys, pytest\n"
            "class Plugin:\n"
            "    def pytest_sessionfinish(self):\n"
            "        print(sorted(n for n in sys.modules if n.startswith('profundo')))\n"
            "sys.exit(pytest.main(['-q', '-p', 'profundo._pytest'], [Plugin()]))\n"
        )
        folder = self.suite("imports", test_it="def test_it(): pass\n")
        done = subprocess.run(
            [sys.executable, "-c", code],
            cwd=folder,
            env=dict(os.environ, PYTHONPATH=os.pathsep.join([support.SOURCES, self.installed])),
            stdout=subprocess.PIPE,
        )
        self.assertIn(b"['profundo', 'profundo._pytest']", done.stdout)

    def test_marks_are_known_and_limits_are_not_checked(self):
        folder = self.suite("marks", test_it=LIMITS)
        code, said, outcomes = self.pytest(folder, "--strict-markers")
        failed = {name for name, tags in outcomes.items() if tags == ["failure"]}
        self.assertEqual(failed, set(), said)

    def test_wrong_usage(self):
        folder = self.suite("usage", test_it="def test_it(): pass\n")
        for words in (
            ["--profundo=cpu,speed"],
            ["--profundo", "--profundo-fail-above=5%"],
            ["--profundo", "--profundo-compare=nowhere.profundo"],
            ["--profundo-dir=there"],
        ):
            code, said, outcomes = self.pytest(folder, *words)
            self.assertEqual(code, 4, said)
            self.assertEqual(outcomes, {})

    def test_a_path_after_the_option_is_a_path(self):
        folder = self.suite("path", test_a="def test_a(): pass\n", test_b="def test_b(): pass\n")
        code, said, outcomes = self.pytest(folder, "--profundo", "test_b.py")
        self.assertEqual(code, 0, said)
        self.assertEqual(set(outcomes), {"test_b"})
        self.assertIn("1 test took", said)


class TestTimes(Runs):
    def check_suite(self, folder, code, said, outcomes):
        self.assertEqual(code, 1, said)
        self.assertEqual(outcomes["test_fails"], ["failure"])
        self.assertEqual([n for n, tags in outcomes.items() if tags == ["failure"]], ["test_fails"])
        rows = self.rows(said, "Slowest tests")
        self.assertEqual(set(rows), {"test_slow", "test_phases", "test_thread"}, said)
        for name, lines in rows.items():
            self.assertIn("work.py:7  sum(range(2000))  # the line to blame", lines[1], said)
        (path,) = glob.glob(os.path.join(folder, "kept", "*.json"))
        with open(path) as file:
            tests = {test["test"].split("::", 1)[1]: test for test in json.load(file)["tests"]}
        self.assertEqual(len(tests), len(outcomes))
        for name, seconds in (("test_slow", 0.4), ("test_thread", 0.3), ("test_phases", 0.2)):
            self.assertAlmostEqual(tests[name]["call"]["cpu_seconds"], seconds, delta=0.06)
            self.assertGreaterEqual(tests[name]["call"]["seconds"], seconds)
        self.assertAlmostEqual(tests["test_phases"]["setup"]["cpu_seconds"], 0.15, delta=0.06)
        self.assertAlmostEqual(tests["test_phases"]["teardown"]["cpu_seconds"], 0.1, delta=0.06)
        return tests

    def test_the_slowest_tests(self):
        folder = self.suite("slowest", test_it=SUITE)
        result = self.pytest(folder, "--profundo", "--profundo-top=3", "--profundo-dir=kept")
        self.check_suite(folder, *result)
        (path,) = glob.glob(os.path.join(folder, "kept", "*.profundo"))
        done = subprocess.run(
            [support.command(), "report", path, "spans", "--json", "--limit=1000"],
            stdout=subprocess.PIPE,
        )
        spans = {row["name"]: row for row in json.loads(done.stdout)["spans"]}
        self.assertIn("test_it.py::test_phases", spans)
        slow = spans["test_it.py::test_slow"]["total_seconds"]
        self.assertAlmostEqual(slow, 0.4, delta=0.1)
        self.assertGreater(spans["test call"]["total_seconds"], 0.5)
        # What is kept can be compared with.
        words = ["--profundo", "--profundo-compare=kept", "--profundo-fail-above=50%"]
        _, said, _ = self.pytest(folder, *words)
        self.assertIn("Against ", said)
        self.assertNotIn("above --profundo-fail-above", said)
        with open(os.path.join(folder, "work.py"), "w") as file:
            file.write(WORK + HEAVIER)
        with open(os.path.join(folder, "test_it.py"), "w") as file:
            file.write(SUITE.replace("work.slow(0.4)", "work.slow(0.4); work.heavier(1.2)"))
        code, said, outcomes = self.pytest(folder, *words, "-k", "not fails")
        self.assertEqual(code, 1, said)
        self.assertNotIn(["failure"], outcomes.values())
        rows = self.rows(said, "Tests that have changed")
        self.assertIn("test_slow", rows, said)
        self.assertIn("above --profundo-fail-above", said)

    def test_workers_are_merged(self):
        folder = self.suite("workers", test_it=SUITE)
        words = ["--profundo", "--profundo-top=3", "--profundo-dir=kept", "-n2"]
        tests = self.check_suite(folder, *self.pytest(folder, *words))
        self.assertEqual({test["worker"] for test in tests.values()}, {"gw0", "gw1"})

    def test_the_first_line_of_a_worker_is_not_blamed(self):
        code = (
            "from types import SimpleNamespace as Row\n"
            "from profundo._pytest import blame\n"
            "def row(file, text, share, function='<module>'):\n"
            "    return Row(file=file, line=1, function=function, text=text, self_share=share,\n"
            "               self_samples=50)\n"
            "worker = row('<string>', blame._WORKER, 0.6)\n"
            "unnamed = row('<string>', None, 0.6)\n"
            "child = row('<string>', 'import click', 0.3)\n"
            "test = row('test_it.py', 'work()', 0.1, 'test_it')\n"
            "library = row('pytest.py', 'gc.collect()', 0.5, 'collect')\n"
            "class Profile:\n"
            "    def select(self, only_mine=False, **options):\n"
            "        return Row(lines=self.mine if only_mine else [library])\n"
            "profile = Profile()\n"
            "profile.mine = [worker, child, test]\n"
            "assert blame._blame(profile, {}) == [child, test]\n"
            "profile.mine = [unnamed]\n"
            "assert blame._blame(profile, {}) == [library]\n"
        )
        path = os.pathsep.join([support.SOURCES, self.installed])
        done = support.python(code, env={"PYTHONPATH": path})
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_asyncio(self):
        text = (
            "import asyncio, pytest, work\n"
            "@pytest.mark.asyncio\n"
            "async def test_first():\n"
            "    async def part(): await asyncio.sleep(0.01); work.slow(0.1)\n"
            "    await asyncio.gather(part(), part(), part())\n"
            "@pytest.mark.asyncio\n"
            "async def test_second(): await asyncio.sleep(0); work.names(1_000_000)\n"
        )
        folder = self.suite("asyncio", test_it=text)
        code, said, _ = self.pytest(folder, "--profundo")
        self.assertEqual(code, 0, said)
        rows = self.rows(said, "Slowest tests")
        self.assertIn("work.py:7", rows["test_first"][1], said)
        self.assertIn("work.py:11", rows["test_second"][1], said)


class TestLimits(Runs):
    def test_limits(self):
        folder = self.suite("limits", test_it=LIMITS)
        code, said, outcomes = self.pytest(folder, "--profundo=memory", "--profundo-top=2")
        failed = {name for name, tags in outcomes.items() if tags == ["failure"]}
        wanted = {
            "test_time",
            "test_memory",
            "test_leak",
            "test_of_memray",
            "test_leaks_of_memray",
            "test_wrong_mark",
            "test_wrong_amount",
            "test_part_limit",
        }
        self.assertEqual(failed, wanted, said)
        self.assertRegex(said, r"test_time: it took \d+\.?\d* ms, and max_time is 20\.0 ms")
        self.assertRegex(said, r"test_leak: it left 5\.\d\d kB allocated, and max_leak is 4\.00 kB")
        self.assertIn("test_it.py:22", said)
        self.assertIn("the mark profundo has no max_speed", said)
        self.assertIn("'3 parsecs' is not a time such as '200 ms'", said)
        self.assertIn("Hungriest tests", said)

    def test_allocations_are_counted(self):
        folder = self.suite("counted", test_it=COUNTED)
        code, said, outcomes = self.pytest(folder, "--profundo=memory")
        failed = {name for name, tags in outcomes.items() if tags == ["failure"]}
        self.assertEqual(failed, {"test_above", "test_each[10100]", "test_thread"}, said)
        self.assertRegex(said, r"it allocated 10,0[0-4]\d times, and max_allocations is 9,999")
        self.assertRegex(said, r"it allocated 10,1[0-4]\d times, and max_allocations is 9,999")
        self.assertRegex(said, r"it allocated 20,[0-4]\d\d times, and max_allocations is 19,999")

    def test_without_memory_its_limits_are_named(self):
        folder = self.suite("unchecked", test_it=LIMITS)
        _, said, outcomes = self.pytest(folder, "--profundo")
        self.assertEqual(outcomes["test_memory"], ["passed"])
        self.assertEqual(outcomes["test_time"], ["failure"])
        self.assertIn("limits of memory, which --profundo=memory checks", said)


class TestBenchmarks(Runs):
    def test_once_without_the_option(self):
        folder = self.suite("once", test_it=BENCHMARKS)
        code, said, outcomes = self.pytest(folder, "-s")
        self.assertEqual(code, 0, said)
        self.assertIn("calls 1\n", said)

    def test_rounds(self):
        folder = self.suite("rounds", test_it=BENCHMARKS)
        code, said, outcomes = self.pytest(folder, "-s", "--profundo", "--profundo-dir=kept")
        self.assertEqual(code, 0, said)
        self.assertGreater(int(re.search(r"calls (\d+)", said)[1]), 1000)
        self.assertIn("Benchmarks", said)
        (path,) = glob.glob(os.path.join(folder, "kept", "*.json"))
        with open(path) as file:
            tests = {test["test"]: test for test in json.load(file)["tests"]}
        (pedantic,) = tests["test_it.py::test_pedantic"]["benchmarks"]
        self.assertEqual((pedantic["rounds"], pedantic["iterations"]), (7, 3))
        (call,) = tests["test_it.py::test_call"]["benchmarks"]
        self.assertTrue(call["least"] <= call["low"] <= call["median"] <= call["high"])


if __name__ == "__main__":
    unittest.main()
