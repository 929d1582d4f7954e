"""Interpreters beside the main one, in its thread and in threads of their own."""
import sys
import threading

try:
    import _interpreters as interpreters
except ImportError:
    try:
        import _xxsubinterpreters as interpreters
    except ImportError:
        print("none here")
        sys.exit()

CODE = """
import time
def burn_in_subinterpreter(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        for i in range(500):
            pass
burn_in_subinterpreter(0.15)
"""


def run_one():
    interpreter = interpreters.create()
    run = getattr(interpreters, "run_string")
    run(interpreter, CODE)
    interpreters.destroy(interpreter)


def burn_in_main(n):
    import time
    end = time.thread_time() + n
    while time.thread_time() < end:
        for i in range(500):
            pass


run_one()
threads = [threading.Thread(target=run_one) for _ in range(3)]
for thread in threads:
    thread.start()
burn_in_main(0.3)
for thread in threads:
    thread.join()
print("all ran")
