"""Threads that enter and leave spans at the same time, where the interpreter lets them.

Argument: the folder of the package.
"""

import sys
import threading

sys.path.insert(0, sys.argv[1])

import profundo

THREADS = 4
TURNS = 3000

shared = profundo.span("shared")
begun = threading.Barrier(THREADS)


@profundo.span("decorated")
def decorated():
    pass


@profundo.span("generator")
def numbers():
    yield 1
    yield 2


def work(number):
    begun.wait()
    for turn in range(TURNS):
        with profundo.span("outer", thread=number):
            with profundo.span("inner"):
                decorated()
            for _ in numbers():
                pass
            with shared:
                with shared:
                    pass
        profundo.mark("turn") if turn % 100 == 0 else None
    # Spans that go all at once, each with the one around it.
    deep = [profundo.span("deep") for _ in range(20)]
    for span in deep:
        span.__enter__()
    for span in reversed(deep):
        span.__exit__(None, None, None)


threads = [threading.Thread(target=work, args=(number,)) for number in range(THREADS)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print("done")
