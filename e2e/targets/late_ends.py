"""Ends in the way that its argument says, while threads run: handlers and finalisers work for a while."""
import atexit
import os
import sys
import threading
import time


def work(turns):
    total = 0
    for _ in range(turns):
        total += sum(len(bytes(number % 300)) for number in range(300))
        time.sleep(0.0005)
    return total


class Late:
    def __init__(self, name):
        self.name = name

    def __del__(self):
        print(self.name, "is finalised", work(150), flush=True)


def forever():
    while True:
        work(3)


late = Late("the first")
atexit.register(lambda: print("at exit", work(150), flush=True))
how = sys.argv[1]
for _ in range(2):
    threading.Thread(target=forever, daemon=True).start()
print("begun", flush=True)
work(200)
if how == "exit":
    sys.exit(3)
elif how == "hard":
    threading.Thread(target=lambda: (work(150), os._exit(4))).start()
    forever()
elif how == "thread":
    threading.Thread(target=lambda: (work(200), print("the thread outlives main", flush=True))).start()
elif how == "exception":
    raise ValueError("nobody catches it")
elif how == "again":
    if os.environ.get("TURN", "") != "xxx":
        os.environ["TURN"] = os.environ.get("TURN", "") + "x"
        os.execv(sys.executable, [sys.executable, *sys.argv])
    sys.exit(5)
