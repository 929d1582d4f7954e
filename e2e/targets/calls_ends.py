"""Calls, and then an end of the kind that is asked for."""
import os
import sys


def work():
    for number in range(1000):
        abs(number)


def dive(depth):
    return depth and 1 + dive(depth - 1)


def end(how):
    work()
    sys.stdout.write('worked\n')
    sys.stdout.flush()
    if how == 'exit':
        sys.exit(3)
    if how == '_exit':
        os._exit(4)
    if how == 'interrupt':
        raise KeyboardInterrupt
    if how == 'error':
        raise ValueError(how)
    if how == 'killed':
        os.kill(os.getpid(), 9)
    if how == 'exec':
        os.execv('/bin/echo', ['echo', 'another'])
    if how == 'deep':
        sys.setrecursionlimit(30000)
        assert dive(5000) == 5000
    if how == 'deeper':
        # From 3.11 on the machine's stack has no part in it.
        depth = 100000 if sys.version_info >= (3, 11) else 5000
        sys.setrecursionlimit(depth + 100)
        calls = 0
        for _ in range(2):
            calls += dive(depth) + 1
        print(calls)
    if how == 'deep-threads':
        import threading
        threading.stack_size(256 << 10)
        depth = 20000 if sys.version_info >= (3, 11) else 200
        sys.setrecursionlimit(depth + 100)
        threads = [threading.Thread(target=dive, args=(depth,)) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        print(4 * (depth + 1))
    if how == 'profiler':
        sys.setprofile(lambda *_: None)
        work()
        sys.setprofile(None)


end(sys.argv[1])
