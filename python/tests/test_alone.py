"""Regions where no process may be started: the program records itself, and saves what it has."""

import os
import re
import shutil
import sys
import tempfile
import time
import unittest

import profundo
import support

#: A program that may start no process, in one of two ways. On a machine that has other work, the
#: kernel's timers give it one or two samples for each 0.1 s of CPU time. What it imports later is imported first,
#: because it becomes a user who may not read the interpreter's folder.
PROGRAM = """\
import _socket, _posixsubprocess, ctypes, errno, json, os, re, resource, shutil, struct, subprocess
import sys, tempfile, threading
import time
import profundo
from profundo._live import agent, alone, counting, profile, region, sampler, session, wrap
import profundo._export, profundo._picture, profundo._rows, profundo._view

HOW, TARGET = sys.argv[1:3]
agent._library()


def burn(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        sum(range(2000))


def slow(seconds):
    burn(seconds)


def other(seconds):
    burn(seconds)


def become_user():
    # The limit is not for root. Much of /proc/self is not for this user.
    if os.getuid() == 0:
        os.setgroups([])
        os.setresgid(61234, 61234, 61234)
        os.setresuid(61234, 61234, 61234)


def limit_processes():
    become_user()
    resource.setrlimit(resource.RLIMIT_NPROC, (0, 0))


def filter_calls():
    DENY, UNKNOWN, ALLOW = 0x50000 | errno.EPERM, 0x50000 | errno.ENOSYS, 0x7FFF0000
    LOAD, EQUAL, SET, GIVE = 0x20, 0x15, 0x45, 0x06
    CLONE_THREAD = 0x10000
    lines = [(LOAD, 0, 0, 0)]
    # fork, vfork, execve, execveat.
    for number in (57, 58, 59, 322):
        lines += [(EQUAL, 0, 1, number), (GIVE, 0, 0, DENY)]
    # clone3, whose flags no filter sees: the C library falls back to clone.
    lines += [(EQUAL, 0, 1, 435), (GIVE, 0, 0, UNKNOWN)]
    lines += [(EQUAL, 0, 3, 56), (LOAD, 0, 0, 16), (SET, 1, 0, CLONE_THREAD), (GIVE, 0, 0, DENY)]
    lines += [(GIVE, 0, 0, ALLOW)]
    code = b"".join(struct.pack("HBBI", *line) for line in lines)
    kept = ctypes.create_string_buffer(code)
    head = struct.pack("HP", len(lines), ctypes.addressof(kept))
    libc = ctypes.CDLL(None, use_errno=True)
    assert libc.prctl(38, 1, 0, 0, 0) == 0
    assert libc.prctl(22, 2, head, 0, 0) == 0, ctypes.get_errno()


def restrict():
    {"limit": limit_processes, "filter": filter_calls}[HOW]()
    for start in (os.fork, lambda: subprocess.call(["true"])):
        try:
            start()
        except OSError as error:
            assert error.errno in (errno.EAGAIN, errno.EPERM), error
        else:
            raise AssertionError("a process could be started")


def path(name):
    return os.path.join(TARGET, name + ".profundo")

"""


def binary():
    """The command, where every user may run it."""
    path = os.path.join(support.folder(), "profundo")
    if not os.path.exists(path):
        try:
            os.link(support.command(), path)
        except OSError:
            shutil.copy(support.command(), path)
    return path


def share(p, name):
    return sum(row.total_share for row in p.functions if row.function == name)


@unittest.skipUnless(sys.platform == "linux" and os.uname().machine == "x86_64", "x86-64 Linux")
class TestAlone(unittest.TestCase):
    def run_alone(self, how, code):
        """What a program prints that may start no process, and the folder of its files."""
        folder = tempfile.mkdtemp(prefix=f"{self.id()}-{how}-", dir=support.folder())
        os.chmod(folder, 0o777)
        os.chmod(support.folder(), 0o755)
        # `fork` has a warning where there are threads.
        environment = {"PROFUNDO_BINARY": binary(), "PYTHONWARNINGS": "ignore"}
        done = support.python(PROGRAM + code, how, folder, env=environment)
        self.assertEqual((done.stderr, done.returncode), ("", 0), done.stdout + done.stderr)
        return done.stdout, lambda name: os.path.join(folder, name + ".profundo")

    def try_thrice(self, act):
        """The kernel's timers give few samples on a machine that has other work, so shares may be
        off by chance. What is wrong each time fails."""
        for _ in range(2):
            try:
                return act()
            except AssertionError:
                time.sleep(1)
        return act()

    def in_both_ways(self, code, check):
        """Check what a program prints and leaves, in each way of having no processes."""
        for how in ("limit", "filter"):
            with self.subTest(how):
                self.try_thrice(lambda: check(*self.run_alone(how, code)))

    def test_shares_of_functions(self):
        code = """
restrict()
with profundo.profile("load") as p:
    slow(0.9)
    other(0.3)
assert p.error is None, p.error
p.save(path("load"))
"""

        def check(_, path):
            p = profundo.load(path("load"))
            self.assertAlmostEqual(share(p, "slow"), 0.75, delta=0.1)
            self.assertAlmostEqual(share(p, "other"), 0.25, delta=0.1)
            self.assertAlmostEqual(share(p, "<module>"), 1, delta=0.02)
            self.assertAlmostEqual(p.cpu_time, 1.2, delta=0.1)
            self.assertIn("sum(range(2000))", [line.text for line in p.lines[:2]])
            # The native code below Python's, by tables that the program has compiled.
            self.assertTrue(any("sum" in row.function for row in p.functions[:3]), p.functions)
            self.assertEqual(sum(row.total_share for row in p.functions if "[" in row.function), 0)
            text = p.report()
            self.assertIn("the program has recorded itself", text)
            self.assertIn("this is a part of what the program has recorded", text)

        self.in_both_ways(code, check)

    def test_two_regions_and_the_time_between_them(self):
        code = """
restrict()
with profundo.profile("first") as first:
    slow(0.4)
other(0.4)
with profundo.profile("second") as second:
    slow(0.1)
    with profundo.profile("inner") as inner:
        other(0.4)
for name in ("first", "second", "inner"):
    globals()[name].save(path(name))
"""

        def check(_, path):
            first, second, inner = map(
                profundo.load, [path("first"), path("second"), path("inner")]
            )
            self.assertGreater(share(first, "slow"), 0.95)
            self.assertAlmostEqual(share(second, "other"), 0.8, delta=0.12)
            self.assertGreater(share(inner, "other"), 0.95)
            both = profundo.merge(path("first"), path("second"))
            self.assertAlmostEqual(share(both, "slow"), 5 / 9, delta=0.12)
            for p, seconds in ((first, 0.4), (second, 0.5), (inner, 0.4), (both, 0.9)):
                self.assertAlmostEqual(p.cpu_time, seconds, delta=0.08)

        self.in_both_ways(code, check)

    def test_threads_that_were_there_and_threads_that_come(self):
        code = """
go = threading.Event()
def wait_and_burn():
    go.wait()
    slow(0.4)
threads = [threading.Thread(target=wait_and_burn, name="early") for _ in range(2)]
for thread in threads: thread.start()
restrict()
with profundo.profile("load") as p:
    go.set()
    if HOW == "filter":
        late = threading.Thread(target=other, args=(0.4,), name="late")
        late.start()
        late.join()
    for thread in threads: thread.join()
p.save(path("load"))
"""
        for how in ("limit", "filter"):
            with self.subTest(how):
                _, path = self.run_alone(how, code)
                p = profundo.load(path("load"))
                seconds = {
                    name: sum(row.total_seconds for row in p.functions if row.function == name)
                    for name in ("slow", "other")
                }
                self.assertAlmostEqual(seconds["slow"], 0.8, delta=0.12)
                self.assertAlmostEqual(seconds["other"], 0.4 if how == "filter" else 0, delta=0.1)

    def test_a_region_of_one_thread(self):
        code = """
def work(name, function):
    with profundo.profile(name) as p:
        function(1.2)
    p.save(path(name))
restrict()
threads = [
    threading.Thread(target=work, args=("a", slow)),
    threading.Thread(target=work, args=("b", other)),
]
for thread in threads: thread.start()
for thread in threads: thread.join()
"""

        def check(_, path):
            a, b = profundo.load(path("a")), profundo.load(path("b"))
            self.assertGreater(share(a, "slow"), 0.95)
            self.assertEqual(share(a, "other"), 0)
            self.assertGreater(share(b, "other"), 0.95)
            self.assertEqual(share(b, "slow"), 0)

        self.try_thrice(lambda: check(*self.run_alone("filter", code)))

    def test_what_needs_the_command_says_what_to_do(self):
        code = """
restrict()
with profundo.profile("load") as p:
    slow(0.6)
    # A fork that is refused meanwhile does no harm.
    for start in (os.fork, lambda: subprocess.call(["true"])):
        try: start()
        except OSError: pass
for ask in (p.print, lambda: p.lines, lambda: p.save(os.path.join(TARGET, "load.svg"))):
    try: ask()
    except profundo.Error as error: print(error)
assert os.listdir(TARGET) == [], os.listdir(TARGET)
p.save(path("load"))
for options in ({"memory": True}, {"memory": "exact"}, {"trace": True}, {"wall": True}):
    with profundo.profile("more", **options) as more:
        pass
    print(more.error)
"""

        def check(said, path):
            lines = said.splitlines()
            for line in lines[:3]:
                self.assertIn("no process may be started here", line)
                self.assertIn("`profundo report part.profundo`", line)
            refused = ["allocations are"] * 2 + ["nothing is counted", "waits are"]
            for line, what in zip(lines[3:], refused):
                self.assertIn(what, line)
                self.assertIn("no process may be started", line)
            self.assertEqual(len(lines), 7, said)
            self.assertGreater(share(profundo.load(path("load")), "slow"), 0.9)

        self.in_both_ways(code, check)

    def test_an_empty_region(self):
        code = """
restrict()
with profundo.profile("nothing") as p:
    pass
p.save(path("nothing"))
profundo.start("all")
profundo.pause()
slow(0.2)
profundo.resume()
other(0.2)
profundo.stop().save(path("all"))
profundo.pause()
with profundo.profile("paused") as p:
    slow(0.2)
    profundo.resume()
    other(0.2)
p.save(path("paused"))
"""

        def check(_, path):
            nothing = profundo.load(path("nothing"))
            self.assertEqual(nothing.functions, [])
            self.assertIn("no samples were taken", nothing.report())
            for name in ("all", "paused"):
                self.assertGreater(share(profundo.load(path(name)), "other"), 0.9)

        self.in_both_ways(code, check)

    def test_a_recording_that_begins_anew(self):
        code = """
from profundo._live.sampler import SAMPLER
restrict()
with profundo.profile("first") as first:
    slow(0.2)
# As before a region that begins long after all others are forgotten.
SAMPLER._begin_anew()
with profundo.profile("second") as second:
    slow(0.1)
    other(0.3)
second.save(path("second"))
"""

        def check(_, path):
            second = profundo.load(path("second"))
            self.assertAlmostEqual(second.cpu_time, 0.4, delta=0.08)
            self.assertAlmostEqual(share(second, "other"), 0.75, delta=0.15)

        self.in_both_ways(code, check)

    def test_forks_that_are_permitted_again(self):
        code = """
soft, hard = resource.getrlimit(resource.RLIMIT_NPROC)
become_user()
resource.setrlimit(resource.RLIMIT_NPROC, (0, hard))
with profundo.profile("load") as p:
    slow(0.2)
    resource.setrlimit(resource.RLIMIT_NPROC, (soft, hard))
    child = os.fork()
    if child == 0:
        with profundo.profile("child") as c:
            other(0.2)
        try: c.functions
        except profundo.Error as error: os._exit(7 if "records itself alone" in str(error) else 8)
    assert os.WEXITSTATUS(os.waitpid(child, 0)[1]) == 7
    assert subprocess.run(["/bin/echo", "x"], stdout=subprocess.PIPE).stdout == b"x\\n"
p.save(path("load"))
"""
        _, path = self.run_alone("limit", code)
        p = profundo.load(path("load"))
        # Forks take CPU time, too.
        self.assertGreater(share(p, "slow"), 0.6)
        self.assertEqual(share(p, "other"), 0)

    def test_a_file_at_the_end(self):
        code = """
restrict()
profundo.start(output=path("end"))
slow(0.2)
"""

        def check(_, path):
            self.assertGreater(share(profundo.load(path("end")), "slow"), 0.9)

        self.in_both_ways(code, check)

    def test_memory_that_is_full(self):
        # With a limit of its memory, the program has less room for samples, and fills it soon.
        code = """
restrict()
with open("/proc/self/statm") as file:
    room = int(file.read().split()[0]) * resource.getpagesize() + (50 << 20)
resource.setrlimit(resource.RLIMIT_AS, (room, room))
def deep(depth):
    if depth: deep(depth - 1)
    else: burn(5)
sys.setrecursionlimit(6000)
with profundo.profile("deep") as p:
    deep(4000)
p.save(path("deep"))
"""
        _, path = self.run_alone("filter", code)
        p = profundo.load(path("deep"))
        self.assertGreater(share(p, "burn"), 0.9)
        report = p.report()
        said = re.search(r"samples have (\d+) MiB of the program's memory, which was full", report)
        self.assertIsNotNone(said, report)
        self.assertLess(os.path.getsize(path("deep")), (int(said.group(1)) + 1) << 20)
        self.assertGreater(p.quality.samples_lost, 20)

    def test_processes_may_be_started_again(self):
        code = """
soft, hard = resource.getrlimit(resource.RLIMIT_NPROC)
become_user()
resource.setrlimit(resource.RLIMIT_NPROC, (0, hard))
with profundo.profile("load") as p:
    slow(0.3)
resource.setrlimit(resource.RLIMIT_NPROC, (soft, hard))
if os.access(os.environ["PROFUNDO_BINARY"], os.X_OK):
    names = [row.function for row in p.functions]
    assert "slow" in names, names
    assert "the program has recorded itself" in p.report()
    p.save(os.path.join(TARGET, "load.svg"))
p.save(path("load"))
"""
        _, path = self.run_alone("limit", code)
        self.assertGreater(share(profundo.load(path("load")), "slow"), 0.9)


if __name__ == "__main__":
    unittest.main()
