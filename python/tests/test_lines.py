"""The lines of chosen functions, sampled and counted; and the memory of a call."""

import os
import unittest

import support

PROGRAM = """\
import asyncio, sys, threading, time
import profundo


def burn(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        sum(range(2000))


@profundo.lines
def sampled(count):
    for number in range(count):
        burn(0.03)
        if number % 2:
            burn(0.06)
    return count


@profundo.lines(exact=True)
def counted(count):
    total = 0
    for number in range(count):
        total += number
        if number % 2:
            time.sleep(0.001)
    return total


@profundo.lines(exact=True)
def factorial(number):
    if number < 2:
        return 1
    return number * factorial(number - 1)


@profundo.lines(exact=True)
async def waits(count):
    for _ in range(count):
        await asyncio.sleep(0.001)
        sum(range(10))


def hits(profile):
    return {line.text: line.hits for line in profile.lines}
"""


class TestLines(unittest.TestCase):
    def run_program(self, code):
        path = os.path.join(support.folder(), "lines.py")
        with open(path, "w") as file:
            file.write(PROGRAM + code)
        done = support.python(f"import runpy; runpy.run_path({path!r}, run_name='__main__')")
        self.assertEqual(done.stderr, "")
        self.assertEqual(done.returncode, 0)
        return done.stdout

    def test_sampled_lines(self):
        said = self.run_program(
            """
assert sampled(6) == 6
profile = sampled.profile
assert profile.count == 1 and not profile.is_exact
by_text = {line.text: line for line in profile.lines}
first, second = by_text["burn(0.03)"], None
assert all(line.file.endswith("lines.py") and 12 <= line.line <= 18 for line in profile.lines)
times = [line.total_seconds for line in profile.lines if line.text and "burn" in line.text]
assert len(times) == 2, profile.lines
for time_, expected in zip(times, (0.18, 0.18)):
    assert abs(time_ - expected) < 0.06, times
assert first.hits is None
print(profile)
"""
        )
        self.assertIn("lines are sampled", said)
        self.assertIn("def sampled(count):", said)
        self.assertNotIn("Hits", said)

    def test_counted_lines(self):
        said = self.run_program(
            """
assert counted(100) == 4950
assert hits(counted.profile) == {
    "total = 0": 1, "for number in range(count):": 101, "total += number": 100,
    "if number % 2:": 100, "time.sleep(0.001)": 50, "return total": 1,
}, hits(counted.profile)
sleep = [line for line in counted.profile.lines if line.text == "time.sleep(0.001)"][0]
assert sleep.total_seconds > 0.05 and sleep.total_share > 0.8, sleep
print(counted.profile)
"""
        )
        self.assertIn("lines are counted", said)
        self.assertRegex(said, r"50 +0\.\d+ +\d\S* \S+ +\d+\.\d +time\.sleep")

    def test_counts_of_threads_add_up(self):
        self.run_program(
            """
sys.setswitchinterval(1e-5)
threads = [threading.Thread(target=counted, args=(2000,)) for _ in range(4)]
for thread in threads: thread.start()
for thread in threads: thread.join()
assert hits(counted.profile)["total += number"] == 8000, hits(counted.profile)
assert counted.profile.count == 4
"""
        )

    def test_counts_of_recursion_and_coroutines(self):
        self.run_program(
            """
assert factorial(10) == 3628800
assert hits(factorial.profile) == {
    "if number < 2:": 10, "return 1": 1, "return number * factorial(number - 1)": 9
}, hits(factorial.profile)


async def both():
    await asyncio.gather(waits(20), waits(30))


asyncio.run(both())
got = hits(waits.profile)
assert got["sum(range(10))"] == 50, got
trace = sys.gettrace()
assert trace is None, trace
"""
        )

    def test_memit(self):
        self.run_program(
            """
memory = profundo.memit(bytearray, 50 << 20)
assert len(memory.value) == 50 << 20
assert 48 << 20 < memory.increment < 60 << 20, memory
assert memory.after >= memory.before + (48 << 20)
print(memory)
# A peak that is over when the call ends counts.
memory = profundo.memit(lambda: bytearray(80 << 20) and None)
assert 78 << 20 < memory.increment, memory
assert memory.after < memory.peak
"""
        )

    def test_a_class(self):
        said = self.run_program(
            """
@profundo.lines(trace="lines")
class Adder:
    kind = int

    def __init__(self, first):
        self.total = first

    def add(self, count):
        for number in range(count):
            self.total += number
        return self.total

    @staticmethod
    def zero():
        return 0

    @classmethod
    def made(cls):
        return cls(cls.zero())

    @property
    def double(self):
        return 2 * self.total

    def never(self):
        return 1

adder = Adder.made()
assert adder.add(10) == 45 and adder.double == 90
found = hits(Adder.profile)
assert found["self.total += number"] == 10 and found["return 0"] == 1, found
assert found["return cls(cls.zero())"] == found["return 2 * self.total"] == 1, found
assert [one.name for one in Adder.profile.methods][:2] == ["Adder.__init__", "Adder.add"]
assert adder.add.profile.count == 1
Adder.profile.print()
try:
    profundo.lines(int)
except TypeError as error:
    assert "has no methods of Python" in str(error), error
else:
    raise AssertionError
"""
        )
        self.assertIn("Adder.double", said)
        self.assertNotIn("Adder.never", said)

    def test_a_heap_snapshot(self):
        path = os.path.join(support.folder(), "own.heapsnapshot")
        self.run_program(
            f"""
class Marker: pass
kept = [Marker() for _ in range(100)]
assert profundo.heap_snapshot({path!r}) == {path!r}
"""
        )
        with open(path) as file:
            self.assertIn("Marker", file.read())


if __name__ == "__main__":
    unittest.main()
