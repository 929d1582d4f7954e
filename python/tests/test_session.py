"""A recording of this process by itself: it is right, the program does not notice it, and nothing
stays of it, whatever the end."""

import glob
import os
import subprocess
import sys
import tempfile
import time
import unittest

import support

#: Each program begins a session, and can work for some CPU time.
BEGIN = """\
import os, sys, time
from profundo import _profile
from profundo._live import agent, session
from profundo._live.options import Options

def work(seconds):
    until = time.process_time() + seconds
    while time.process_time() < until:
        pass

agent._library()  # asks the command for its place, as an installed package does not
live = session.begin(Options())
"""


class TestSession(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="profundo-session-")
        self.addCleanup(lambda: os.rmdir(self.folder))

    def run_program(self, rest, begin=BEGIN, **options):
        """Run a program, whose temporary files are in a folder of the test's."""
        return support.python(begin + rest, env={"TMPDIR": self.folder}, **options)

    def assert_ended(self, done, expected, code=0):
        self.assertEqual((done.stdout, done.returncode), (expected, code), done.stderr)
        self.assert_clean()

    def assert_clean(self):
        """All files are gone: the recorder's last ones some moments after the program."""
        for _ in range(100):
            left = glob.glob(os.path.join(self.folder, "**"), recursive=True)[1:]
            if not left:
                return
            time.sleep(0.1)
        self.fail(f"there are still {left}")

    def test_times_of_functions(self):
        done = self.run_program(
            """
def one(): work(0.3)
def two(): work(0.1)
one(); two()
kept = _profile.Kept()
whole = _profile.load(live.stop(kept))
shares = {row.function: row.total_share for row in whole.functions}
print(0.65 < shares["one"] < 0.85, 0.15 < shares["two"] < 0.35)
print(0.35 < whole.cpu_time < 0.6, whole.quality.samples > 100)
"""
        )
        self.assert_ended(done, "True True\nTrue True\n")

    def test_a_snapshot_has_all_until_then(self):
        done = self.run_program(
            """
def one(): work(0.2)
def two(): work(0.2)
kept, last = _profile.Kept(), _profile.Kept()
one()
first = _profile.load(live.snapshot(kept))
two()
whole = _profile.load(live.stop(last))
def names(profile): return sorted({row.function for row in profile.functions} & {"one", "two"})
print(names(first), names(whole))
print(0.15 < first.cpu_time < 0.35, whole.cpu_time > 0.35)
"""
        )
        self.assert_ended(done, "['one'] ['one', 'two']\nTrue True\n")

    def test_nothing_is_recorded_in_a_pause_or_before_a_clearing(self):
        done = self.run_program(
            """
def one(): work(0.1)
def two(): work(0.1)
def three(): work(0.1)
one()
live.clear()
time.sleep(0.1)
two()
live.pause()
three()
live.resume(at_once=True)
kept = _profile.Kept()
whole = _profile.load(live.stop(kept))
print(sorted({row.function for row in whole.functions} & {"one", "two", "three"}))
"""
        )
        self.assert_ended(done, "['two']\n")

    def test_a_region_that_begins_while_the_recorder_is_busy_is_whole(self):
        begin = "import os, signal, sys, threading, time\nimport profundo\n"
        done = self.run_program(
            """
from profundo._live import sampler
def work(seconds):
    until = time.process_time() + seconds
    while time.process_time() < until:
        pass
with profundo.profile("first") as first:
    work(0.05)
assert first.functions
sampler._STALE = 0.0
recorder = sampler.SAMPLER._session._recorder._process
os.kill(recorder, signal.SIGSTOP)
threading.Timer(0.5, os.kill, (recorder, signal.SIGCONT)).start()
# What was recorded before is cleared, because nobody asks for it any more.
with profundo.profile("second", threads=False) as second:
    work(0.2)
print(0.15 < second.cpu_time < 0.3)
""",
            begin,
        )
        self.assert_ended(done, "True\n")

    def test_a_child_that_began_before_is_named(self):
        done = self.run_program(
            """
import profundo, subprocess
child = subprocess.Popen(["sleep", "60"])
time.sleep(0.05)
with profundo.profile() as p:
    work(0.1)
time.sleep(0.5)  # the sampler pauses
later = subprocess.Popen(["sleep", "60"])
time.sleep(0.05)
with profundo.profile() as q:
    work(0.1)
for region in (p, q):
    notes = [line for line in region.report().splitlines() if line.startswith("Note: processes")]
    print(*(line.replace(str(child.pid), "A").replace(str(later.pid), "B") for line in notes))
for process in (child, later):
    process.kill()
    process.wait()
""",
            begin=BEGIN[: BEGIN.index("live = ")],
        )
        words = "Note: processes that began while nothing was recorded are not in it: sleep"
        self.assert_ended(done, f"{words} (A) {words} (B)\n" * 2)

    def test_the_next_program_of_this_process_records_itself(self):
        done = self.run_program(
            """
import profundo

def below(): work(0.2)
with profundo.profile() as p:
    if len(sys.argv) == 1:
        words = open("/proc/self/cmdline", "rb").read().split(b"\\0")[:-1]
        os.execv(sys.executable, [*words, b"again"])
    below()
print("profundo" in os.environ.get("LD_PRELOAD", ""), p.error)
print(any(row.function == "below" for row in p.functions))
""",
            begin=BEGIN[: BEGIN.index("live = ")],
        )
        self.assert_ended(done, "False None\nTrue\n")

    def test_a_forked_child_is_in_the_same_recording(self):
        done = self.run_program(
            """
child = os.fork()
if child == 0:
    live.forked()
    def below(): work(0.2)
    below()
    os._exit(7)
status = os.wait()
print(status[0] == child, status[1] >> 8)
kept = _profile.Kept()
whole = _profile.load(live.stop(kept))
print(any(row.function == "below" for row in whole.functions))
"""
        )
        self.assert_ended(done, "True 7\nTrue\n")

    def test_memory_of_regions_one_after_the_other(self):
        done = self.run_program(
            """
import profundo, re
live.drop()
for _ in range(3):
    with profundo.profile(memory=True) as region:
        kept = [bytearray(10**6) for _ in range(100)]
        del kept[10:]
    said = region.report("allocs")
    allocated, alive = map(float, re.match(r"Memory: ([0-9.]+) MB .* ([0-9.]+) MB of", said).groups())
    print(75 < allocated < 130, 5 < alive < 25, "at the end of the recording" in said)
with profundo.profile(memory="exact") as region:
    kept = [bytearray(10**6) for _ in range(100)]
    del kept[10:]
print(re.match(r"Memory: ([0-9.]+) MB .* ([0-9.]+) MB of", region.report("allocs")).groups())
"""
        )
        expected = 3 * "True True True\n" + "('100', '10.0')\n"
        self.assert_ended(done, expected)

    def test_what_the_package_allocates_is_in_no_region(self):
        begin = "import threading, time\nimport profundo\n"
        done = self.run_program(
            """
def allocated(region):
    found = region.json("allocs", limit=1000)["allocations"]
    lines = [(row["at"] or {}, row["allocated_bytes"]) for row in found["lines"]]
    own = sum(count for at, count in lines if "/profundo/_" in (at.get("file") or ""))
    return found["total"]["allocated_bytes"], own

def make():
    return [bytearray(1000) for _ in range(1000)]

for _ in range(3):
    # The profile before goes while this one is open.
    with profundo.profile("one", memory="exact") as one:
        kept = make()
    whole, own = allocated(one)
    assert 1_050_000 < whole < 1_250_000 and own < 2000, (whole, own)

@profundo.profile(memory="exact")
def decorated():
    return len(make())
for _ in range(3):
    decorated()
whole, own = allocated(decorated.profile)
assert 3_150_000 < whole < 3_750_000 and own < 4000, (whole, own)

# Regions that begin or end meanwhile change nothing.
with profundo.profile("outer", memory="exact") as outer:
    with profundo.profile("inner") as inner:
        pass
    with profundo.profile("counted", trace=True):
        pass
    thread = threading.Thread(target=lambda: profundo.profile("there").__enter__().__exit__())
    thread.start()
    thread.join()
    inner.__exit__()
    make()
    profundo.pause()
    make()
    profundo.resume()
    make()
whole, _ = allocated(outer)
# Two of the three: in a pause nothing counts.
assert 2_200_000 < whole < 3_300_000, whole
print("ended")
""",
            begin,
        )
        self.assert_ended(done, "ended\n")

    def test_a_look_at_the_recording_is_not_in_it(self):
        done = self.run_program(
            """
work(0.1)
first, last = _profile.Kept(), _profile.Kept()
print(len(_profile.load(live.snapshot(first)).functions) > 0)
work(0.1)
whole = _profile.load(live.stop(last))
print("1 process " in whole.report("summary"))
"""
        )
        self.assert_ended(done, "True\nTrue\n")

    def test_no_wait_and_no_signal_tells_of_the_recorder(self):
        done = self.run_program(
            """
import signal
seen = []
signal.signal(signal.SIGCHLD, lambda *_: seen.append("signal"))
for _ in range(3):
    kept = _profile.Kept()
    live.stop(kept)
    try:
        seen.append(os.waitpid(-1, os.WNOHANG))
    except ChildProcessError:
        pass
    live = session.begin(Options())
live.drop()
children = open(f"/proc/self/task/{os.getpid()}/children").read()
print(seen, repr(children))
"""
        )
        self.assert_ended(done, "[] ''\n")

    def test_a_program_that_adopts_orphans_has_no_child_afterwards(self):
        done = self.run_program(
            """
import ctypes
live.drop()
PR_SET_CHILD_SUBREAPER = 36
ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1)
live = session.begin(Options())
work(0.05)
kept = _profile.Kept()
live.stop(kept)
try:
    print(os.waitpid(-1, os.WNOHANG))
except ChildProcessError:
    print("no child")
"""
        )
        self.assert_ended(done, "no child\n")

    def test_nothing_grows_and_nothing_stays(self):
        done = self.run_program(
            """
def state():
    status = dict(line.split(":", 1) for line in open("/proc/self/status"))
    names = "VmSize", "Threads", "SigBlk", "SigIgn", "SigCgt"
    mapped = open("/proc/self/maps").read().count("\\n")
    return [status[name].strip() for name in names] + [len(os.listdir("/proc/self/fd")), mapped]
def again():
    global live
    live = session.begin(Options())
    work(0.002)
    kept = _profile.Kept()
    live.stop(kept)
before = state()
live.drop()
for _ in range(3):
    again()
after_three = state()
for _ in range(20):
    again()
after_all = state()
print(after_all == after_three, after_three[1:6] == state()[1:6])
print(after_three if after_all != after_three else "", after_all if after_all != after_three else "")
"""
        )
        self.assert_ended(done, "True True\n \n")

    def test_the_end_of_the_program_ends_the_recorder(self):
        ends = {
            "sys.exit(3)": 3,
            "os._exit(4)": 4,
            "os.kill(os.getpid(), 9)": -9,
            "os.abort()": -6,
            "os.execv('/bin/sh', ['sh', '-c', 'exit 5'])": 5,
        }
        for end, code in ends.items():
            with self.subTest(end):
                self.assert_ended(self.run_program(f"work(0.05)\n{end}\n"), "", code)

    def test_a_recorder_that_is_killed_is_an_error_and_no_more(self):
        done = self.run_program(
            """
import signal
from profundo import Error
os.kill(live._recorder._process, signal.SIGKILL)
work(0.05)
try:
    live.stop(_profile.Kept())
except Error as error:
    print(error)
work(0.05)
live = session.begin(Options())
work(0.05)
kept = _profile.Kept()
print(len(_profile.load(live.stop(kept)).functions) > 0)
"""
        )
        self.assert_ended(done, "the recorder has ended\nTrue\n")

    def test_a_program_that_is_recorded_already_is_told_so(self):
        program = os.path.join(self.folder, "program.py")
        with open(program, "w") as file:
            file.write(
                """\
from profundo import Error
from profundo._live import session
from profundo._live.options import Options
try:
    session.begin(Options())
except Error as error:
    print(error)
"""
            )
        self.addCleanup(os.remove, program)
        path = os.path.join(support.folder(), "outer.profundo")
        words = [support.command(), "record", "--no-config", "-o", path, "--", sys.executable]
        environment = dict(os.environ, PYTHONPATH=support.SOURCES)
        done = subprocess.run(
            [*words, program], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        self.assertIn(b"is being recorded already", done.stdout)


if __name__ == "__main__":
    unittest.main()
