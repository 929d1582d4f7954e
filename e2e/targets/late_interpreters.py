"""Interpreters that work beside the main one all the time, in threads of their own, and others that come and go, all the
time and at a line of input. From 3.12 on most of them have a lock of their own (GIL).

Each line is answered with what was allocated. At the end it prints the results of all, and exits with 7.
"""
import os
import sys
import threading

try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters

WORK = """
import os
def leaf(number):
    return bytes(number %% 300)
def work():
    values = [leaf(number) for number in range(400)]
    texts = {number: str(number) for number in range(100)}
    try:
        raise ValueError(len(texts))
    except ValueError as error:
        return sum(map(len, values)) + error.args[0]
"""

BESIDE = WORK + """
os.set_blocking(%d, False)
while True:
    result = work()
    try:
        os.read(%d, 1)
        break
    except BlockingIOError:
        pass
os.write(%d, b"%%d\\n" %% result)
"""

ONCE = WORK + """
for _ in range(20):
    result = work()
os.write(%d, b"%%d\\n" %% result)
"""


def create(has_own_lock):
    if sys.version_info >= (3, 13):
        return interpreters.create("isolated" if has_own_lock else "legacy")
    return interpreters.create(isolated=has_own_lock)


def run(code, has_own_lock):
    interpreter = create(has_own_lock)
    interpreters.run_string(interpreter, code)
    interpreters.destroy(interpreter)


def once(has_own_lock):
    reader, writer = os.pipe()
    thread = threading.Thread(target=run, args=(ONCE % writer, has_own_lock))
    thread.start()
    thread.join()
    result = os.read(reader, 100)
    os.close(reader)
    os.close(writer)
    return int(result)


def come_and_go(over):
    while not over.is_set():
        run("sum(map(len, [bytes(number) for number in range(300)]))", True)


def keeps():
    blocks = [None] * 1000
    for number, size in many:
        blocks[number] = bytes(size)  # keeps
    return blocks


many = [(number, 40 + number) for number in range(1000)]


def main():
    stop_reader, stop = os.pipe()
    results, out = os.pipe()
    code = BESIDE % (stop_reader, stop_reader, out)
    beside = [threading.Thread(target=run, args=(code, number % 2 == 0)) for number in range(3)]
    over = threading.Event()
    guests = threading.Thread(target=come_and_go, args=(over,))
    for thread in [*beside, guests]:
        thread.start()
    print("begun", flush=True)
    for line in sys.stdin:
        blocks = keeps()
        print("keeps", len(blocks), sum(map(sys.getsizeof, blocks)), flush=True)
        for has_own_lock in (True, False):
            print("result", 1, once(has_own_lock), flush=True)
        print("done", flush=True)
    over.set()
    os.write(stop, b"xxx")
    for thread in [*beside, guests]:
        thread.join()
    print(os.read(results, 1000).split())
    sys.exit(7)


main()
