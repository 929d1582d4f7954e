"""The counts of cProfile, or of the interpreter's own line events, against those in a file of profundo.

    calls_truth.py calls PROGRAM OURS.pstats     prints how many functions and edges are equal, and those that are not
    calls_truth.py python PROGRAM OURS.pstats    the same without functions of C's
    calls_truth.py lines PROGRAM OURS.lprof      the same of lines
"""
import collections
import cProfile
import json
import marshal
import pickle
import re
import sys
import threading
import types


def run(program, wrap):
    code = compile(open(program).read(), program, 'exec')
    space = {'__name__': '__main__'}
    sys.argv = [program]
    wrap(code, space)


def calls(program, ours, builtins=True):
    profile = cProfile.Profile(builtins=builtins)
    run(program, lambda code, space: profile.runctx(code, space, space))

    def label(code):
        if isinstance(code, str):
            return '~', 0, re.sub(' at 0x[0-9a-f]+', '', code.strip('<>'))
        return code.co_filename, code.co_firstlineno, code.co_name

    truth = collections.defaultdict(lambda: [0, 0])
    for entry in profile.getstats():
        for called in [None] + list(entry.calls or ()):
            of = called or entry
            key = (called and label(entry.code), label(of.code))
            truth[key][0] += of.callcount
            truth[key][1] += of.callcount - of.reccallcount
    found = {}
    with open(ours, 'rb') as file:
        table = marshal.load(file)

    def named(function):
        return function[:2] + (re.sub(' at 0x[0-9a-f]+', '', function[2].strip('<>{}')),) if function[0] == '~' else function

    for function, (primitive, total, _, _, callers) in table.items():
        found[None, named(function)] = [total, primitive]
        for caller, (total, primitive, _, _) in callers.items():
            found[named(caller), named(function)] = [total, primitive]
    # What the program's own functions do. Importing is another thing in a program that is run by another one.
    own = [key for key in set(truth) | set(found)
           if (key[0] or key[1])[0] == program and 'import' not in key[1][2] and key[1][2] != '_find_and_load'
           and key[1][2] != '_handle_fromlist' and 'importlib' not in key[1][0]]
    return {key: (truth.get(key), found.get(key)) for key in own}


def python(program, ours):
    return calls(program, ours, False)


def lines(program, ours):
    truth = collections.Counter()

    def met(code, line):
        if code.co_filename == program:
            truth[code.co_firstlineno, code.co_name, line] += 1

    def with_events(code, space):
        if sys.version_info >= (3, 12):
            watch = sys.monitoring
            watch.use_tool_id(1, 'truth')
            watch.register_callback(1, watch.events.LINE, met)
            # 3.13.0 has events for functions of one line only with the event of their beginning.
            watch.register_callback(1, watch.events.PY_START, lambda *_: None)
            watch.set_events(1, watch.events.LINE | watch.events.PY_START)
            exec(code, space)
            watch.set_events(1, 0)
        else:
            def trace(frame, event, _):
                if event == 'line':
                    met(frame.f_code, frame.f_lineno)
                return trace
            sys.settrace(trace)
            exec(code, space)
            sys.settrace(None)

    run(program, with_events)
    part = types.ModuleType('line_profiler._line_profiler')
    part.LineStats = type('LineStats', (), {})
    sys.modules.update({'line_profiler': types.ModuleType('line_profiler'), 'line_profiler._line_profiler': part})
    with open(ours, 'rb') as file:
        table = pickle.load(file).timings
    found = {(first, name, line): hits
             for (path, first, name), rows in table.items() for line, hits, _ in rows if path == program}
    return {key: (truth.get(key), found.get(key)) for key in set(truth) | set(found)}


what, program, ours = sys.argv[1:]
both = {'calls': calls, 'python': python, 'lines': lines}[what](program, ours)
for key, (theirs, own) in both.items():
    if theirs != own:
        print('differs', key, theirs, own)
print('equal', sum(theirs == own for theirs, own in both.values()))
