"""Spans with attributes, in two threads. Argument: the folder of the package."""

import sys
import threading

sys.path.insert(0, sys.argv[1])

import profundo


def burn(rounds):
    return sum(i * i for i in range(rounds))


def requests(route):
    for _ in range(12):
        with profundo.span("request", route=route):
            burn(60000)
            with profundo.span("query"):
                burn(30000)


threads = [threading.Thread(target=requests, args=(route,), name=route) for route in ("home", "search")]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
