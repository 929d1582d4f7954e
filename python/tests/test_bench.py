"""``%%bench`` without IPython: candidates, their timing, and the command's judgement."""

import ast
import contextlib
import io
import os
import time
import unittest

import support
from profundo._ipython import candidates, timing


class TestCandidates(unittest.TestCase):
    def test_lines_of_dashes_separate(self):
        found = candidates.split("a = 1\nb = 2\n---\n\nc = 3\n--- last one\n# why\nd = 4\n\n", 2)
        self.assertEqual([one.text for one in found], ["a = 1\nb = 2", "c = 3", "# why\nd = 4"])
        self.assertEqual([one.line for one in found], [2, 6, 8])
        self.assertEqual([one.name for one in found], ["a = 1 …", "c = 3", "last one"])

    def test_the_first_may_have_a_name_and_equal_names_are_told_apart(self):
        found = candidates.split("--- one\nf()\n---\ng()\n---\ng()")
        self.assertEqual([one.name for one in found], ["one", "2: g()", "3: g()"])

    def test_a_minus_is_no_separator(self):
        self.assertEqual(len(candidates.split("x = 5\nx --- 1\n--x")), 1)

    def test_setup_is_not_timed_and_names_are_the_notebooks(self):
        body = candidates.parse("seen.append(value)", 1, "<test>")
        setup = candidates.parse("value = 7; time.sleep(0.05)", 1, "<test>")
        names = {"seen": [], "time": time}
        timed = candidates.compiled(body, setup, "<test>", names, time.perf_counter)
        self.assertLess(timed(3), 0.05)
        self.assertEqual(names["seen"], [7, 7, 7])
        self.assertNotIn("value", names)

    def test_an_error_has_the_line_of_the_cell(self):
        body = candidates.parse("x = 1\n1 / 0", 5, "<cell>")
        timed = candidates.compiled(body, [], "<cell>", {}, time.perf_counter)
        try:
            timed(1)
        except ZeroDivisionError as error:
            trace = error.__traceback__
        while trace.tb_next is not None:
            trace = trace.tb_next
        self.assertEqual((trace.tb_frame.f_code.co_filename, trace.tb_lineno), ("<cell>", 6))

    def test_answers(self):
        def answer(text):
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                value = candidates.answer(ast.parse(text).body, [], "<test>", {})()
            return value, printed.getvalue()

        self.assertEqual(answer("print(1)\n2 + 3"), (5, "1\n"))
        self.assertEqual(answer("x = 1"), (None, ""))
        self.assertIs(candidates.are_same([1, 2], [1, 2]), True)
        self.assertIs(candidates.are_same([1, 2], [1, 3]), False)

    def test_answers_that_are_arrays(self):
        try:
            import numpy
        except ImportError:
            self.skipTest("numpy is not installed")
        one = numpy.arange(4)
        self.assertIs(candidates.are_same(one, numpy.arange(4)), True)
        self.assertIs(candidates.are_same(one, numpy.arange(4) + 1), False)
        self.assertIs(candidates.are_same(one, numpy.arange(5)), False)


class TestTiming(unittest.TestCase):
    def test_each_comes_before_each_other_as_often_as_after(self):
        orders = timing.orders(3)
        first = [next(orders) for _ in range(10)]
        for one in range(3):
            for other in range(one):
                before = sum(order.index(one) < order.index(other) for order in first)
                self.assertEqual(before, 5)

    def test_parts_take_equally_long(self):
        # As the command's own test has them.
        self.assertEqual(timing.parts_of(0.1, [0.0075 / 500, 0.005 / 50]), (20, [333, 50]))
        self.assertEqual(timing.parts_of(0.1, [0.03, 0.0001]), (3, [1, 333]))
        self.assertEqual(timing.parts_of(0.1, [7.0, 0.0001]), (1, [1, 1000]))
        alike = [0.011 / 100, 0.005 / 10, 0.01 / 100]
        self.assertEqual(timing.parts_of(0.1, alike), (20, [50, 10, 50]))

    def test_runs_are_pairs_and_an_interruption_keeps_whole_rounds(self):
        calls = []

        def make(index):
            def timed(loops):
                calls.append(index)
                if len(calls) > 31:
                    raise KeyboardInterrupt
                return 0.002 * loops

            return timed

        found = timing.driven(timing.measure(make, 2, number=1))
        self.assertTrue(found.is_cut)
        self.assertEqual(len(found.runs[0]), len(found.runs[1]))
        self.assertGreater(len(found.runs[0]), 10)


class TestJudgement(unittest.TestCase):
    def test_the_command_judges(self):
        from profundo._ipython.benchmark import judged

        measured = timing.Measured(2)
        measured.loops = [10, 10]
        measured.runs = [[0.1 + 0.0001 * i for i in range(10)], [0.2] * 10]
        pieces = candidates.split("one()\n--- slow & <b>\ntwo()")
        file = os.path.join(support.folder(), "measured.json")
        bench = judged(pieces, measured, False, ["They ran."], file)
        self.assertFalse(os.path.exists(file))
        self.assertEqual(bench.fastest, "one()")
        row = bench.comparisons[0]
        self.assertAlmostEqual(row["ratio"], 2, delta=0.02)
        self.assertTrue(row["differs"])
        self.assertIn("They ran.", str(bench))
        bundle = bench._repr_mimebundle_()
        self.assertEqual(bundle["text/plain"], str(bench))
        self.assertNotIn("<b>", bundle["text/html"].replace("<b>one()</b>", ""))
        again = os.path.join(support.folder(), "saved.json")
        bench.save(again)
        self.assertTrue(os.path.getsize(again))


if __name__ == "__main__":
    unittest.main()
