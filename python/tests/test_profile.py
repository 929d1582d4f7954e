"""A recording through the package says what the command says."""

import gc
import io
import json
import os
import pickle
import subprocess
import sys
import unittest

import profundo
import support


def said(*words):
    """What the command prints."""
    return subprocess.run([support.command(), *words], stdout=subprocess.PIPE).stdout.decode()


class TestProfile(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.path = support.recording()
        cls.profile = profundo.load(cls.path)

    def test_the_whole(self):
        document = json.loads(said("report", self.path, "--json"))["recording"]
        self.assertEqual(self.profile.path, self.path)
        self.assertEqual(self.profile.duration, document["duration_seconds"])
        self.assertEqual(self.profile.cpu_time, document["cpu_seconds"])
        self.assertIn("program.py", self.profile.command)
        quality = self.profile.quality
        self.assertEqual(quality.samples, document["samples"])
        self.assertGreater(quality.samples, 30)
        self.assertEqual(quality.samples_lost, 0)
        self.assertTrue(0 < quality.share_margin < 0.2)
        self.assertIn(f"{quality.samples} samples", str(quality))

    def test_functions(self):
        functions = self.profile.functions
        ours = [row for row in functions if row.file and row.file.endswith("program.py")]
        by_name = {row.function: row for row in ours}
        heavy = by_name["heavy"]
        self.assertEqual(os.path.basename(heavy.file), "program.py")
        self.assertEqual(heavy.language, "python")
        # The start of an interpreter with many packages takes its part.
        self.assertGreater(heavy.total_share, 0.25)
        self.assertLess(heavy.total_share.low, heavy.total_share)
        self.assertGreater(heavy.total_share.high, heavy.total_share)
        self.assertGreaterEqual(heavy.total_seconds, heavy.self_seconds)
        self.assertGreater(by_name["main"].total_share, heavy.total_share)
        # Own times add up to what was selected.
        document = json.loads(said("report", self.path, "functions", "--json"))
        whole = document["selection"]["seconds"]
        own = sum(row.self_seconds for row in functions)
        self.assertAlmostEqual(own, whole * (1 - document["unseen_share"]), delta=whole / 100)
        times = [row.self_seconds for row in functions]
        self.assertEqual(times, sorted(times, reverse=True))

    def test_lines(self):
        lines = self.profile.lines
        document = json.loads(
            said("report", self.path, "lines", "--json", "--limit=100000", "--min-share=0")
        )
        own = sum(row.self_seconds for row in lines) + document["without_line"]["seconds"]
        self.assertAlmostEqual(own, document["selection"]["seconds"], places=6)
        hot = [row for row in lines if row.text and row.text.startswith("total +=")]
        self.assertEqual([row.line for row in hot], [7])
        self.assertEqual(hot[0].text, 'total += math.sqrt(number) * 0.5  # "&<b>"')
        times = [row.self_seconds for row in lines]
        self.assertEqual(times, sorted(times, reverse=True))

    def test_rows_cannot_be_changed(self):
        row = self.profile.functions[0]
        with self.assertRaises(AttributeError):
            row.function = "x"
        with self.assertRaises(AttributeError):
            row.self_share.low = 0.0
        again = pickle.loads(pickle.dumps(row))
        self.assertEqual(again, row)
        self.assertEqual(again.self_share.low, row.self_share.low)
        # A list of one's own.
        self.profile.functions.clear()
        self.assertTrue(self.profile.functions)

    def test_reports(self):
        for what in ("summary", "functions", "lines", "tree", "flat", "statprof"):
            self.assertEqual(self.profile.report(what), said("report", self.path, what), what)
        ours = self.profile.report(
            "functions", limit=2, only_mine=True, function=["heavy", "light"]
        )
        theirs = said(
            "report",
            self.path,
            "functions",
            "--limit=2",
            "--only-mine",
            "--function=heavy",
            "--function=light",
        )
        self.assertEqual(ours, theirs)
        self.assertEqual(
            self.profile.report("callers", "heavy"), said("report", self.path, "callers", "heavy")
        )
        self.assertEqual(str(self.profile), said("report", self.path))
        file = io.StringIO()
        self.profile.print(file)
        self.assertEqual(file.getvalue(), str(self.profile))

    def test_a_selection(self):
        below = self.profile.select(function="light")
        self.assertEqual(
            below.report("tree"), said("report", self.path, "tree", "--function=light")
        )
        # The lines of the selection are a whole of their own.
        self.assertGreater(below.lines[0].self_share, 0.9)
        self.assertEqual(self.profile.select(focus="no such function").lines, [])
        with self.assertRaises(profundo.Error):
            self.profile.select(focus="no such function").flame()
        late = self.profile.select(from_=self.profile.duration)
        self.assertEqual(late.functions, [])
        self.assertIn("function='light'", repr(below))

    def test_files(self):
        checks = {
            "x.svg": lambda content: b"<svg" in content,
            "x.heatmap.svg": lambda content: b"<svg" in content,
            "x.graph.svg": lambda content: b"<svg" in content,
            "x.square.svg": lambda content: b"<svg" in content,
            "x.dot": lambda content: b"digraph" in content,
            "x.pb.gz": lambda content: content.startswith(b"\x1f\x8b"),
            "x.speedscope.json": lambda content: "profiles" in json.loads(content.decode()),
            "x.folded": lambda content: b";heavy" in content,
        }
        for name, check in checks.items():
            path = os.path.join(support.folder(), name)
            self.profile.save(path)
            with open(path, "rb") as file:
                self.assertTrue(check(file.read()), name)
        path = os.path.join(support.folder(), "x.any")
        self.profile.save(path, format="collapsed", function="light")
        with open(path) as file:
            self.assertNotIn("heavy", file.read())

    def test_the_recording_itself(self):
        path = os.path.join(support.folder(), "copy.profundo")
        self.profile.save(path)
        self.profile.save(path)
        self.assertEqual(profundo.load(path).functions, self.profile.functions)
        self.assertEqual(os.stat(path).st_mode & 0o777, 0o600)
        other = os.path.join(support.folder(), "precious.profundo")
        with open(other, "w") as file:
            file.write("something else")
        with self.assertRaisesRegex(profundo.Error, "is no recording"):
            self.profile.save(other)
        self.profile.save(other, force=True)
        part = self.profile.select(function="light")
        part.save(path)
        self.assertEqual(profundo.load(path).functions, part.functions)
        self.assertEqual(os.stat(path).st_mode & 0o777, 0o600)
        with self.assertRaisesRegex(profundo.Error, "only_mine selects nothing"):
            self.profile.select(only_mine=True).save(path)

    def test_errors_are_sentences_of_the_command(self):
        with self.assertRaises(profundo.Error) as caught:
            self.profile.save(os.path.join(support.folder(), "x.pstats"))
        self.assertEqual(caught.exception.exit_code, 1)
        self.assertRegex(str(caught.exception), "^no calls were counted in this recording")
        self.assertEqual(caught.exception.command[:2], ("profundo", "export"))
        again = pickle.loads(pickle.dumps(caught.exception))
        self.assertEqual((str(again), again.exit_code), (str(caught.exception), 1))
        with self.assertRaises(profundo.Error) as caught:
            self.profile.report("tree", sort="nonsense")
        self.assertEqual(caught.exception.exit_code, 2)
        self.assertNotIn("For more information", str(caught.exception))
        with self.assertRaisesRegex(profundo.Error, "no format has the ending"):
            self.profile.save("x.png")
        with self.assertRaisesRegex(profundo.Error, "there is no format 'nonsense'"):
            self.profile.save("x.svg", format="nonsense")
        with self.assertRaisesRegex(profundo.Error, "there is no recording"):
            profundo.load("/no/such.profundo")
        with self.assertRaisesRegex(profundo.Error, "is not a recording"):
            profundo.load(__file__)

    def test_counted_lines_and_calls(self):
        counted = profundo.load(support.recording("lines", verb=("trace", "--lines")))
        hits = {row.line: row.hits for row in counted.lines}
        self.assertEqual((hits[7], hits[8], hits[12]), (5 * 300000, 5, 5))
        path = os.path.join(support.folder(), "y.lprof")
        counted.save(path)
        self.assertGreater(os.path.getsize(path), 0)
        calls = profundo.load(support.recording("calls", verb=("trace",)))
        path = os.path.join(support.folder(), "y.pstats")
        calls.save(path)
        import pstats

        stats = pstats.Stats(path).stats
        self.assertEqual([value[0] for key, value in stats.items() if key[2] == "heavy"], [5])

    def test_memory(self):
        program = os.path.join(support.folder(), "holds.py")
        with open(program, "w") as file:
            file.write("kept = [bytes(1000) for _ in range(20000)]\n")
        path = os.path.join(support.folder(), "memory.profundo")
        words = [support.command(), "record", "--no-config", "--memory", "-o", path]
        pipe = subprocess.PIPE
        subprocess.run(
            words + ["--", sys.executable, program], check=True, stdout=pipe, stderr=pipe
        )
        held = profundo.load(path).select(of="live")
        line = held.lines[0]
        self.assertEqual((line.line, line.self_seconds), (1, None))
        self.assertAlmostEqual(line.self_bytes, 20e6, delta=8e6)
        self.assertIn('content="memory"', held._view().html())
        self.assertGreater(held.quality.samples, 0)

    def test_merged(self):
        other = support.recording("after", heavy=1500000)
        merged = profundo.merge(self.profile, other, label=["run=1", "run=2"])
        both = self.profile.cpu_time + profundo.load(other).cpu_time
        self.assertAlmostEqual(merged.cpu_time, both, places=5)
        self.assertIn("run=2", merged.report("tree", by="label"))
        path = merged.path
        one = merged.select(label="run=1")
        del merged
        gc.collect()
        # A selection keeps the file.
        self.assertTrue(one.functions)
        del one
        gc.collect()
        self.assertFalse(os.path.exists(path))
        named = os.path.join(support.folder(), "merged.profundo")
        self.assertEqual(profundo.merge(self.profile, other, output=named).path, named)
        self.assertTrue(os.path.exists(named))

    def test_recordings_by_name(self):
        kept = os.environ.get("PROFUNDO_DIR")
        os.environ["PROFUNDO_DIR"] = os.path.join(support.folder(), "recordings")
        os.makedirs(os.environ["PROFUNDO_DIR"], exist_ok=True)
        try:
            with self.assertRaisesRegex(profundo.Error, "there is no recording"):
                profundo.load()
            program = os.path.join(support.folder(), "named.py")
            with open(program, "w") as file:
                file.write("print(sum(range(3000000)))")
            for _ in range(2):
                subprocess.run(
                    [support.command(), "record", "--no-config", "--", sys.executable, program],
                    check=True,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                )
            newest, older = profundo.load(), profundo.load("@2")
            self.assertNotEqual(newest.path, older.path)
            self.assertEqual(profundo.load("named").path, newest.path)
        finally:
            del os.environ["PROFUNDO_DIR"]
            if kept is not None:
                os.environ["PROFUNDO_DIR"] = kept

    def test_pandas_or_a_clear_error(self):
        try:
            import pandas
        except ImportError:
            with self.assertRaisesRegex(ImportError, "pip install pandas"):
                self.profile.to_pandas()
            return
        frame = self.profile.to_pandas("lines")
        self.assertIsInstance(frame, pandas.DataFrame)
        self.assertEqual(len(frame), len(self.profile.lines))
        self.assertLess(frame["self_share_low"][0], frame["self_share"][0])
        self.assertNotIn("self_bytes", frame.columns)


class TestDiff(unittest.TestCase):
    def test_two_recordings(self):
        before, after = support.recording(), support.recording("after", heavy=1500000)
        diff = profundo.diff(before, profundo.load(after), by=["function", "line"])
        self.assertGreater(diff.whole.change, 0)
        self.assertLess(diff.whole.change_low, diff.whole.change)
        self.assertTrue(diff.whole.changed)
        self.assertGreater(diff.whole.ratio, 1.5)
        tables = diff.json()["tables"]
        self.assertEqual([table["by"] for table in tables], ["function", "line"])
        # Which rows are named is the command's decision.
        theirs = [row for table in tables for row in table["rows"]]
        self.assertEqual([row.name for row in diff.rows], [row["name"] for row in theirs])
        for row, their in zip(diff.rows, theirs):
            self.assertTrue(row.own.changed or row.total.changed)
            self.assertEqual(row.total.change_high, their["total_change_high"])
            self.assertIn(row.by, ("function", "line"))
        self.assertIn(diff.verdict[:20], str(diff))
        self.assertFalse(diff.failed)
        self.assertEqual(profundo.diff(before, before).rows, [])
        path = os.path.join(support.folder(), "diff.svg")
        diff.save(path)
        self.assertTrue(os.path.exists(path))
        self.assertIn("srcdoc", diff._repr_mimebundle_()["text/html"])

    def test_sets_of_runs(self):
        before, after = support.recording(), support.recording("after", heavy=1500000)
        diff = profundo.diff([before] * 3, [after] * 3, fail_above="5%")
        self.assertTrue(diff.failed)
        self.assertTrue(diff.json()["spread_is_measured"])
        # Its page has both sets.
        self.assertIn("srcdoc", diff._repr_mimebundle_()["text/html"])

    def test_what_cannot_be_compared(self):
        with self.assertRaises(profundo.Error):
            profundo.diff(support.recording(), support.recording("calls", verb=("trace",)))
        with self.assertRaisesRegex(profundo.Error, "nothing passes the filter"):
            profundo.diff(profundo.load(support.recording()).select(thread=9), support.recording())

    def test_a_selection_can_be_compared(self):
        whole = profundo.load(support.recording())
        diff = profundo.diff(whole.select(function="heavy"), whole)
        heavy = [row for row in diff.rows if row.name == "light"]
        self.assertTrue(heavy and heavy[0].own.before == 0, diff.report())


if __name__ == "__main__":
    unittest.main()
