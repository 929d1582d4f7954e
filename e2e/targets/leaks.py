"""Programs that keep memory, of which one leaks it.

usage: leaks.py cache|warm_up|pool|leak|ring|sessions|table|plateau SEED
"""
import collections
import random
import sys
import time

STEPS = 30_000
mode = sys.argv[1]
dice = random.Random(int(sys.argv[2]))


def noise(step):
    text = "n" * (200 + dice.randrange(3000))
    return len([text, text + str(step)])


def entry(size):
    return bytearray(size)


def leaked(size):
    return bytearray(size)  # LEAK


cache = collections.OrderedDict()
tables, borrowed, lost, sessions = [], [], [], {}
ring = collections.deque(maxlen=1000)
pool = [entry(20_000) for _ in range(50)] if mode == "pool" else []
slots = [None] * 4000

for step in range(STEPS):
    noise(step)
    if mode == "cache":
        cache[step] = entry(2000)
        if len(cache) > 4000:
            cache.popitem(last=False)
    elif mode == "warm_up" and step < STEPS // 10:
        tables.append(entry(4000))
    elif mode == "pool":
        if not pool:
            pool.append(entry(20_000))
        borrowed.append(pool.pop())
        if len(borrowed) > dice.randrange(60):
            pool.extend(borrowed)
            borrowed.clear()
    elif mode == "leak":
        block = leaked(4000)
        if step % 100 == 0:
            lost.append(block)
    elif mode == "ring":
        ring.append(entry(3000))
    elif mode == "sessions":
        sessions[step] = entry(2000)
        if len(sessions) > 500 and dice.random() < 0.99:
            gone = dice.choice(list(sessions)[:200])
            del sessions[gone]
        while len(sessions) > 1000:
            sessions.pop(next(iter(sessions)))
    elif mode == "table":
        place = dice.randrange(len(slots))
        if slots[place] is None:
            slots[place] = entry(2000)
    elif mode == "plateau" and step < STEPS * 6 // 10:
        tables.append(entry(1000))
    if step % 500 == 0:
        # Time passes.
        time.sleep(0.02)
