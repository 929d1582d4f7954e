"""Works on request under a tool of its own, and prints in the end what the tool has seen.

Each line of its input is the number of calls. The word is the tool: `cprofile`, `setprofile`, `settrace`,
`monitoring`, or `thread`, whose profile function is that of another thread alone.
"""
import collections
import queue
import sys
import threading

#: This file, and that of code without a file.
FILES = (__file__, "<string>")

seen = collections.Counter()


def leaf(number):
    return abs(number)


def caller(count):
    for number in range(count):
        leaf(number)


def see(frame, event, argument):
    if frame.f_code.co_filename in FILES:
        seen[frame.f_code.co_name, event] += 1
    return see


class CProfile:
    def begin(self):
        import cProfile

        self.profile = cProfile.Profile()
        self.profile.enable()

    def end(self):
        self.profile.disable()
        for row in self.profile.getstats():
            # A C function has only a name.
            name = getattr(row.code, "co_name", row.code)
            if getattr(row.code, "co_filename", __file__) in FILES:
                seen[name, "calls"] += row.callcount


class Function:
    def __init__(self, set_function):
        self.set = set_function

    def begin(self):
        self.set(see)

    def end(self):
        self.set(None)


class Monitoring:
    """Two tools: one counts calls, and one the lines that it has not disabled yet."""

    def begin(self):
        self.monitoring = monitoring = sys.monitoring
        events = monitoring.events
        for tool, event, callback in (
            (monitoring.PROFILER_ID, events.PY_START, self.started),
            (monitoring.COVERAGE_ID, events.LINE, self.line),
        ):
            monitoring.use_tool_id(tool, "own")
            monitoring.register_callback(tool, event, callback)
            monitoring.set_events(tool, event)

    def started(self, code, offset):
        if code.co_filename in FILES:
            seen[code.co_name, "started"] += 1

    def line(self, code, number):
        if code.co_filename in FILES:
            seen[code.co_name, "line"] += 1
        return self.monitoring.DISABLE

    def end(self):
        for tool in self.monitoring.PROFILER_ID, self.monitoring.COVERAGE_ID:
            self.monitoring.set_events(tool, 0)


class Thread:
    """A profile function in another thread, which does the work."""

    def begin(self):
        self.requests, self.answers = queue.Queue(), queue.Queue()
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def run(self):
        sys.setprofile(see)
        while True:
            count = self.requests.get()
            if count is None:
                return
            caller(count)
            self.answers.put(count)

    def work(self, count):
        self.requests.put(count)
        self.answers.get()

    def end(self):
        self.requests.put(None)
        self.thread.join()


TOOLS = {
    "cprofile": CProfile,
    "setprofile": lambda: Function(sys.setprofile),
    "settrace": lambda: Function(sys.settrace),
    "monitoring": Monitoring,
    "thread": Thread,
}


def main():
    tool = TOOLS[sys.argv[1]]()
    work = getattr(tool, "work", caller)
    tool.begin()
    print("begun", flush=True)
    for line in sys.stdin:
        work(int(line))
        print("done", flush=True)
    tool.end()
    for (name, event), count in sorted(seen.items()):
        print(name, event, count)


main()
