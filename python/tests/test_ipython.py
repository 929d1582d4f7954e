"""The IPython extension, in a shell of its own process."""

import json
import os
import re
import sys
import unittest

import support

#: Where this Python finds IPython.
_paths = [support.SOURCES]


def setUpModule():
    try:
        import IPython  # noqa: F401
    except ImportError:
        # The oldest and the newest Python of the machine have none of their own.
        _paths.append(support.packages("ipython"))
        sys.path.append(_paths[-1])


#: Runs cells, and prints as JSON what each has shown and displayed.
RUN = """
import io, json, sys
from contextlib import redirect_stderr, redirect_stdout
from IPython.core.interactiveshell import InteractiveShell

shell = InteractiveShell.instance(history_length=0)
results = []
for text in json.load(sys.stdin):
    out, err = io.StringIO(), io.StringIO()
    shown = []
    publish = shell.display_pub.publish
    shell.display_pub.publish = lambda data, *_, **__: shown.append(data)
    with redirect_stdout(out), redirect_stderr(err):
        result = shell.run_cell(text, store_history=True)
    shell.display_pub.publish = publish
    error = result.error_in_exec or result.error_before_exec
    results.append({
        "out": out.getvalue(), "err": err.getvalue(), "shown": shown, "value": repr(result.result),
        "error": None if error is None else type(error).__name__,
        "names": sorted(name for name in shell.user_ns if name.startswith("__profundo")),
    })
json.dump(results, sys.__stdout__)
"""

DEFINED = """\
def busy(seconds):
    import time
    until = time.process_time() + seconds
    while time.process_time() < until:
        sum(range(2000))
    return seconds
"""


def run(*cells):
    """What cells have shown, after the extension is loaded and `busy` is defined."""
    return run_cells(["%load_ext profundo", DEFINED] + list(cells))[2:]


def run_cells(texts):
    """What cells have shown."""
    folder = os.path.join(support.folder(), "ipython")
    environment = {"IPYTHONDIR": folder, "PYTHONPATH": os.pathsep.join(_paths)}
    done = support.python(RUN, input=json.dumps(texts), env=environment)
    try:
        return json.loads(done.stdout)
    except ValueError:
        raise AssertionError(done.stdout + done.stderr) from None


class TestMagics(unittest.TestCase):
    def shown(self, cell):
        """The text of a cell, and the answers of its page as text."""
        self.assertEqual(len(cell["shown"]), 1, cell)
        bundle = cell["shown"][0]
        page = bundle.get("text/html")
        if page is None:
            return bundle["text/plain"], None
        self.assertLess(len(page.encode()), 900000)
        self.assertIn("sandbox=", page)
        # What it begins with is one of the places that it carries.
        self.assertRegex(page, "profundo-place&quot; content=&quot;(source|exact)")
        return bundle["text/plain"], json.dumps(support.carried(page))

    def test_a_cell_has_its_value_and_its_lines(self):
        (cell,) = run("%%profundo\nx = busy(0.2)\nx + 1")
        text, page = self.shown(cell)
        self.assertEqual((cell["value"], cell["error"], cell["names"]), ("1.2", None, []))
        # The extension and the function have been cells 1 and 2.
        self.assertRegex(text, r"In \[3\]: [0-9.]+ m?s")
        self.assertRegex(text, r"(?m)^ +\d\d[\d.]* +[\d.]+ +2  x = busy\(0.2\)$")
        self.assertRegex(text, r"(?m)^ +[\d.]+ +[\d.]+  In \[2\]:5  sum\(range\(2000\)\)$")
        for part in ("x = busy(0.2)", '"name": "In [2]"', '"name": "In [3]"'):
            self.assertIn(part, page)
        self.assertNotIn("IPython/core", page)
        self.assertNotIn("IPython/core", text)

    def test_it_runs_once(self):
        first, second = run("%%profundo\nseen = globals().get('seen', 0) + 1", "seen")
        self.assertEqual(second["value"], "1")

    def test_a_short_cell_is_not_empty(self):
        (cell,) = run("%%profundo\n1 + 1")
        text, page = self.shown(cell)
        self.assertEqual(cell["value"], "2")
        self.assertRegex(text, "No sample fell into it|Only .* fell into it")
        self.assertIn("1 + 1", text)
        # A page without samples would be empty.
        self.assertIsNone(page)

    def test_await(self):
        define = "async def later():\n    await asyncio.sleep(0.05)\n    return busy(0.1)\n"
        cells = run(
            "import asyncio\n" + define,
            "%%profundo\nawait later()",
            "%profundo await later()",
            "p = %profundo -r await later()",
            "type(p).__name__, round(p.elapsed, 1) >= 0.1",
        )
        self.assertEqual([cell["error"] for cell in cells], [None] * 5, cells)
        self.assertEqual(cells[1]["value"], "0.1")
        for cell in cells[1:4]:
            self.assertIn("In [", self.shown(cell)[0])
        self.assertEqual(cells[4]["value"], "('Region', True)")

    def test_an_error_shows_both(self):
        (cell,) = run("%%profundo\nbusy(0.05)\n1 / 0")
        text, _ = self.shown(cell)
        self.assertIn("ended by ZeroDivisionError", text)
        self.assertEqual(cell["error"], "ZeroDivisionError")
        self.assertIn("1 / 0", re.sub(r"\x1b\[[0-9;]*m", "", cell["out"]))

    def test_an_interruption_keeps_the_profile(self):
        stop = "import os, signal, threading\n" + (
            "threading.Timer(0.6, os.kill, (os.getpid(), signal.SIGINT)).start()"
        )
        cells = run("%%profundo\npass", stop, "%%profundo\nwhile True:\n    busy(0.01)", "7")
        text, _ = self.shown(cells[2])
        self.assertIn("ended by KeyboardInterrupt", text)
        self.assertRegex(text, r"(?m)^ +\d\d[\d.]* +[\d.]+ +3      busy\(0.01\)$")
        self.assertEqual(cells[3]["value"], "7")

    def test_a_statement_with_a_function(self):
        (cell,) = run("x = 1\n%profundo -f busy busy(0.1)")
        text, page = self.shown(cell)
        # It is the second line of its cell.
        self.assertRegex(text, r"(?m)^ +\d\d[\d.]* +[\d.]+ +2  busy\(0.1\)$")
        self.assertRegex(text, r"(?m)^ +[\d.]+ +[\d.]+ +5          sum\(range\(2000\)\)$")
        self.assertIn('"function": "busy"', page)

    def test_every_cell(self):
        cells = run("%profundo on", "busy(0.05)", "%profundo off", "busy(0.05)")
        self.assertEqual([len(cell["shown"]) for cell in cells], [0, 1, 0, 0])
        self.assertEqual(cells[1]["value"], "0.05")

    def test_another_magic_below(self):
        cells = run("%%profundo\n%%capture kept\nbusy(0.05)\nprint('in')", "str(kept)")
        self.assertIn("In [3]", self.shown(cells[0])[0])
        self.assertEqual(cells[1]["value"], repr("in\n"))

    def test_future_imports_and_nothing(self):
        cells = run("%%profundo\nfrom __future__ import annotations\nx = 1", "%%profundo", "x")
        self.assertEqual([cell["error"] for cell in cells], [None] * 3, cells)
        self.assertEqual(cells[2]["value"], "1")

    def test_files(self):
        folder = support.folder()
        names = [os.path.join(folder, name) for name in ("cell.svg", "cell.profundo", "cell.txt")]
        cells = run(
            f"%%profundo -q -o {names[0]} -T '{names[2]}'\nbusy(0.05)",
            f"%%profundo -q -o {names[1]}\nbusy(0.05)",
        )
        for cell in cells:
            self.assertEqual((cell["shown"], cell["error"]), ([], None), cell)
        for name in names:
            self.assertTrue(os.path.getsize(name), cells)

    def test_wrong_usage(self):
        cells = run(
            "%%profundo --nothing\n1",
            "%%profundo -s\n1",
            "%%profundo --rate x\n1",
            "%profundo",
            "%%profundo f()\n1",
            "%profundo -f no_such f()",
            "%%bench\n",
        )
        self.assertEqual({cell["error"] for cell in cells}, {"UsageError"}, cells)
        self.assertIn("there is no option --nothing", cells[0]["err"])

    def test_memory(self):
        make = "kept = [bytearray(10**6) for _ in range(60)]"
        (cell,) = run(f"%%profundo --memory\n{make}\nkept.clear()")
        text, page = self.shown(cell)
        self.assertRegex(text, r"(?m) +[5-7]\d(\.\d)? MB .* 2  kept = ")
        self.assertIn('"allocated_bytes"', page)

    def test_counted_lines(self):
        define = "def add(n):\n    total = 0\n    for i in range(n):\n        total += i"
        cells = run(
            define,
            "%%profundo --lines\nfor _ in range(3):\n    add(10)",
            "%profundo -f add --trace=lines add(20)",
            "%%profundo --lines -f later\ndef later():\n    return 1\nlater() + later()",
        )
        self.assertEqual([cell["error"] for cell in cells], [None] * 4, cells)
        text, page = self.shown(cells[1])
        self.assertRegex(text, r"Hits +Time +Per hit +Time % +Line  Source")
        self.assertRegex(text, r"(?m)^ +3 +[\d.]+ \S+ +[\d.]+ \S+ +[\d.]+ +3      add\(10\)$")
        # The function of another cell.
        self.assertRegex(text, r"(?m)^ +30 +[\d.]+ \S+ +In \[3\]:4  total \+= i$")
        self.assertIn('"hits": 30', page)
        self.assertNotIn("No sample", text)
        text, _ = self.shown(cells[2])
        figures = r"(?m)^ +20 +[\d.]+ \S+ +[\d.]+ \S+ +[\d.]+ +4          total \+= i$"
        self.assertRegex(text, figures)
        self.assertRegex(text, r"(?m)^ +21 .* 3      for i in range\(n\):$")
        self.assertNotIn("elsewhere", text)
        text, _ = self.shown(cells[3])
        self.assertRegex(text, r"(?m)^ +2 .* 3      return 1$")

    def test_counted_calls_and_exceptions(self):
        define = "def one(x):\n    return x\ndef many(n):\n    return [one(x) for x in range(n)]"
        fails = "for _ in range(4):\n    try:\n        int('x')\n    except ValueError: pass"
        cells = run(
            define,
            "%%profundo --trace\nmany(30)\nmany(5)",
            "%profundo --trace -s ncalls -l one many(7)",
            "%%profundo --trace=exceptions\n" + fails,
            "p = %profundo -r -q --trace many(9)",
            "{one.function: one.calls for one in p.functions}['one']",
            "%%profundo --trace --memory\n1",
            "%%profundo --trace=words\n1",
            "%%profundo --trace\nimport asyncio\nawait asyncio.sleep(0.02)\nmany(4)",
        )
        # What IPython and the event loop have of their own is no row.
        text, page = self.shown(cells[8])
        self.assertRegex(text, r"(?m)^ +4 .*\(one\)$")
        self.assertNotIn("hidden]", text + page)
        text, page = self.shown(cells[1])
        self.assertNotIn("hidden]", text + page)
        self.assertEqual(cells[1]["value"], repr([0, 1, 2, 3, 4]))
        self.assertIn("ncalls", text)
        self.assertRegex(text, r"(?m)^ +35 .*\(one\)$")
        self.assertRegex(text, r"(?m)^ +2 .*\(many\)$")
        self.assertIn('"calls": 35', page)
        for part in ("IPython", "interactiveshell", "run_code"):
            self.assertNotIn(part, text)
        text, _ = self.shown(cells[2])
        self.assertRegex(text, r"(?m)^ +7 .*\(one\)$")
        self.assertNotIn("(many)", text)
        text, page = self.shown(cells[3])
        self.assertIn("4 exceptions were raised: 4 caught.", text)
        self.assertIn("ValueError", page)
        self.assertEqual(cells[5]["value"], "9")
        self.assertEqual([cells[6]["error"], cells[7]["error"]], ["UsageError"] * 2)

    def test_bench_of_what_awaits(self):
        define = "import asyncio\nasync def slow():\n    await asyncio.sleep(0.002)\n    return 1"
        cells = run(
            define,
            "%%bench -r 6 --min-time 0.01 --check -o\nawait slow()\n--- short\n"
            "await asyncio.sleep(0)\n1",
            "_.fastest",
            "b = %bench -q -o -r 6 --min-time 0.01 await slow() --- await slow()",
            "type(b).__name__",
            "%%bench --check\nawait slow()\n---\n2",
            "%%bench\nawait slow()\n---\nawait slow() / 0",
        )
        self.assertEqual([cell["error"] for cell in cells[:5]], [None] * 5, cells)
        text = cells[1]["shown"][0]["text/plain"]
        self.assertIn("What other tasks of the loop did meanwhile is in the times.", text)
        self.assertEqual(cells[2]["value"], repr("short"))
        self.assertEqual(cells[4]["value"], repr("Benchmark"))
        self.assertIn("different values: 1 and 2", cells[5]["err"])
        self.assertEqual(cells[6]["error"], "ZeroDivisionError")

    def test_bench(self):
        cells = run(
            "%%bench -r 10 --min-time 0.02 -o n = 100\nsum(range(n))\n--- list\nsum([*range(n)]*9)",
            "_.fastest",
            "%bench -o -r 6 --min-time 0.01 sum([]) --- sum([1])",
            "%bench --check 1 + 1 --- 1 + 2",
            "%%bench\n1\n---\n1 / 0",
        )
        text = cells[0]["shown"][0]["text/plain"]
        self.assertIn("list", text)
        self.assertEqual(cells[1]["value"], repr("sum(range(n))"))
        self.assertIn("95 % sure", cells[0]["shown"][0]["text/html"])
        self.assertIn("Benchmark", cells[2]["value"])
        self.assertIn("different values: 2 and 3", cells[3]["err"])
        self.assertEqual(cells[4]["error"], "ZeroDivisionError")

    def test_memit_and_mprun(self):
        cells = run(
            "%memit -o bytearray(100_000_000)",
            "_.increment",
            "%mprun -f busy busy(0.05)",
            "%%memit -c size = 50_000_000\nx = bytearray(size)",
        )
        self.assertRegex(cells[0]["out"], r"peak memory: [\d.]+ MiB, increment: 9\d.\d\d MiB")
        self.assertAlmostEqual(int(cells[1]["value"]), 100e6, delta=3e6)
        self.assertIn("Allocated", self.shown(cells[2])[0])
        self.assertRegex(cells[3]["out"], r"increment: 4\d.\d\d MiB")

    def test_it_unloads(self):
        cells = run("%unload_ext profundo", "%%profundo\n1", "5")
        self.assertEqual(cells[1]["shown"], [])
        self.assertEqual(cells[2]["value"], "5")


class TestOptions(unittest.TestCase):
    def test_letters(self):
        from profundo._ipython import options

        text = "-f f -f 'g.h (x)' -l5 -qr --rate=99 -T out -- -x"
        given, rest = options.split(text, options.PROFUNDO)
        self.assertEqual(given["-f"], ["f", "g.h (x)"])
        self.assertEqual((given["-l"], given["-T"], given["--rate"]), (["5"], ["out"], ["99"]))
        self.assertIn("-q", given)
        self.assertIn("-r", given)
        self.assertEqual(rest, "-x")

    def test_a_statement_may_begin_with_a_minus(self):
        from profundo._ipython import options

        for text in ("-1 + x", "-(x)", "f(x, '--memory')"):
            self.assertEqual(options.split(text, options.PROFUNDO), ({}, text))

    def test_memory_may_be_exact(self):
        from profundo._ipython.options import Options

        self.assertEqual(Options("--memory").recorded, {"memory": True})
        self.assertEqual(Options("--memory=exact f()").recorded, {"memory": "exact"})


class TestWithout(unittest.TestCase):
    def test_nothing_of_it_is_imported_by_the_package(self):
        code = "import sys, profundo; profundo.load; print('IPython' in sys.modules)"
        self.assertEqual(support.python(code).stdout.strip(), "False", sys.version)


if __name__ == "__main__":
    unittest.main()
