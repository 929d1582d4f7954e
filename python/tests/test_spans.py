"""``profundo.span`` and ``profundo.mark``: what a program sees of them, recorded or not."""

import json
import os
import subprocess
import sys
import textwrap
import unittest

from support import SOURCES, command, folder, python

# What holds whether the program is recorded or not. It prints nothing.
PROGRAM = '''
import asyncio
import contextvars
import gc
import sys
import threading
import weakref

import profundo
from profundo import mark, span

with span("plain") as one:
    assert one is not None
with one:
    with one, one:
        pass
try:
    with span("failing", key=1):
        raise KeyError(1)
except KeyError as error:
    assert error.args == (1,)
else:
    raise AssertionError("an exception goes on")


@span("function", kind="x")
def function(first, *rest, key=None):
    """Its text."""
    return first, rest, key


assert function(1, 2, key=3) == (1, (2,), 3)
assert function.__name__ == "function" and function.__doc__ == "Its text."


@span("generator")
def generator():
    try:
        got = yield 1
        yield got
    except ValueError:
        yield "caught"
    return 5


def outer():
    answers.append((yield from generator()))


answers = []
items = outer()
assert next(items) == 1 and items.send(7) == 7 and items.throw(ValueError()) == "caught"
assert list(items) == [] and answers == [5]
items = generator()
next(items)
items.close()


@span("coroutine")
async def coroutine():
    await asyncio.sleep(0)
    return 3


@span("async generator")
async def async_generator():
    try:
        got = yield 1
        yield got
    except ValueError:
        yield "caught"


async def use():
    assert await coroutine() == 3
    items = async_generator()
    assert await items.__anext__() == 1
    assert await items.asend(7) == 7
    assert await items.athrow(ValueError()) == "caught"
    assert [item async for item in items] == []
    assert [item async for item in async_generator()] == [1, None]


asyncio.run(use())


class Class:
    @span("method")
    def method(self):
        return self

    @span("static")
    @staticmethod
    def static():
        return 1

    @span("class")
    @classmethod
    def of_class(cls):
        return cls


made = Class()
assert made.method() is made and Class.static() == 1 and made.of_class() is Class

for wrong in (Class, 3):
    try:
        span("wrong")(wrong)
    except TypeError:
        pass
    else:
        raise AssertionError(wrong)

# Attributes of any kind.


class Odd:
    def __str__(self):
        raise RuntimeError("no text")


with span("odd", a=Odd(), b="\\ud800", c=None, d=1.5, e="x" * 10000, f="\\0\\n"):
    pass
with span("many", **{"key%d" % number: "x" * 150 for number in range(100)}):
    pass
with span("\\ud800"):
    pass
with span("name", name="name"):
    pass
mark("here")

# Nothing of the program is held.


class Value:
    pass


value = Value()
seen = weakref.ref(value)
with span("value", value=value):
    pass
del value
gc.collect()
assert seen() is None

# Spans that are left in another order, in another context or thread, twice or never.
first, second = span("first"), span("second")
first.__enter__()
second.__enter__()
first.__exit__(None, None, None)
first.__exit__(None, None, None)
second.__exit__(None, None, None)
span("never entered").__exit__(None, None, None)
context = contextvars.copy_context()
one = span("elsewhere")
context.run(one.__enter__)
one.__exit__(None, None, None)
thread = threading.Thread(target=one.__exit__, args=(None, None, None))
one.__enter__()
thread.start()
thread.join()
del context, one
left = span("left")
left.__enter__()


def deep(count):
    with span("deep"):
        return deep(count - 1) if count else 0


sys.setrecursionlimit(10000)
worker = threading.Thread(target=deep, args=(1500,))
threading.stack_size(64 << 20)
worker = threading.Thread(target=deep, args=(1500,))
worker.start()
worker.join()
gc.collect()
'''


def spans_of(path):
    """The rows of the report on spans, by name."""
    words = [command(), "report", "--no-config", path, "spans", "--json"]
    found = json.loads(subprocess.run(words, check=True, stdout=subprocess.PIPE).stdout)
    return {row["name"]: row for row in found["spans"]}, found


class Spans(unittest.TestCase):
    def test_a_program_sees_no_difference(self):
        done = python(PROGRAM)
        self.assertEqual((done.stdout, done.stderr, done.returncode), ("", "", 0))
        rows, found = self.record(PROGRAM)
        self.assertEqual(rows["plain"]["count"], 4)
        self.assertEqual(rows["function"]["count"], 1)
        self.assertEqual(rows["generator"]["count"], 2)
        self.assertEqual(rows["coroutine"]["count"], 1)
        self.assertEqual(rows["async generator"]["count"], 2)
        self.assertEqual([rows[name]["count"] for name in ("method", "static", "class")], [1] * 3)
        self.assertEqual(rows["elsewhere"]["count"], 2)
        self.assertEqual((rows["left"]["count"], rows["left"]["open"]), (1, 1))
        self.assertNotIn("never entered", rows)
        self.assertNotIn("wrong", rows)
        self.assertEqual(rows["deep"]["count"], 1000)
        self.assertEqual([mark["name"] for mark in found["marks"]], ["here"])

    def test_spans_import_nothing_heavy(self):
        code = "import sys, profundo; before = set(sys.modules); profundo.span('x'); "
        code += "print(sorted(set(sys.modules) - before))"
        done = python(code)
        names = done.stdout.replace("'", "").strip("[]\n").split(", ")
        ours = [name for name in names if name.startswith("profundo.")]
        self.assertIn("profundo._live.spans", ours)
        rest = set(names) - set(ours)
        small = {"__future__", "_functools", "types", "warnings"}
        small |= {"importlib", "importlib._bootstrap", "importlib._bootstrap_external"}
        self.assertLessEqual(rest, small, done.stdout)

    def test_a_child_goes_on(self):
        code = """
        import os, profundo
        with profundo.span("both"):
            pid = os.fork()
            if pid == 0:
                with profundo.span("inner"):
                    sum(range(3000000))
                os._exit(0)
            os.waitpid(pid, 0)
        """
        rows, _ = self.record(textwrap.dedent(code))
        self.assertEqual((rows["both"]["count"], rows["inner"]["count"]), (1, 1))
        self.assertGreater(rows["both"]["total_seconds"], 0.9 * rows["inner"]["total_seconds"])
        self.assertGreater(rows["inner"]["total_seconds"], 0)

    def test_an_exec_ends_spans(self):
        code = """
        import os, sys, profundo
        with profundo.span("before"):
            try:
                os.execv("/nowhere", ["nowhere"])
            except OSError:
                pass
            os.execv(sys.executable, [sys.executable, "-c", "sum(range(3000000))"])
        """
        rows, found = self.record(textwrap.dedent(code))
        self.assertEqual((rows["before"]["count"], rows["before"]["open"]), (1, 0))

    def test_attributes_with_many_values(self):
        code = """
        import profundo
        for number in range(3000):
            with profundo.span("request", number=number):
                pass
        """
        rows, found = self.record(textwrap.dedent(code))
        self.assertEqual(rows["request"]["count"], 3000)
        self.assertEqual(found["attributes_not_kept"], 3000 - 1024)

    def record(self, code):
        program = os.path.join(folder(), "spans.py")
        path = os.path.join(folder(), "spans.profundo")
        with open(program, "w") as file:
            file.write(code)
        words = [command(), "record", "--no-config", "-o", path, "--", sys.executable, program]
        environment = dict(os.environ, PYTHONPATH=SOURCES)
        pipe = subprocess.PIPE
        done = subprocess.run(words, env=environment, stdout=pipe, stderr=pipe)
        self.assertEqual((done.returncode, done.stdout), (0, b""), done.stderr.decode())
        self.assertNotIn(b"Traceback", done.stderr)
        return spans_of(path)


if __name__ == "__main__":
    unittest.main()
