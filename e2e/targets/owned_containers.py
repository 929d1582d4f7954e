"""Keeps containers with known owners. Two of them grow with each line of its input, whose end ends it."""
import sys
import types

cache = types.ModuleType("app.cache")
sys.modules["app.cache"] = cache
exec(
    """
class Session:
    def __init__(self, number):
        self.number = number
        self.items = [number, str(number)]


class Slots:
    __slots__ = ("rows",)

    def __init__(self):
        self.rows = [1]


class Settings:
    registry = {"a": 1}


sessions = [Session(number) for number in range(120)]
for one in sessions:
    one.__dict__
slots = {"first": Slots()}
table = [{"number": [number]} for number in range(50)]
""",
    cache.__dict__,
)


def serve(**kwargs):
    local = {number: number for number in range(1000)}
    closed = {1, 2}

    def inner():
        return closed

    cache.inner = inner
    print("ready", len(local), flush=True)
    for _ in sys.stdin:
        cache.table.extend({"number": [number]} for number in range(500))
        cache.slots["first"].rows.extend(range(20000))
        print("grown", flush=True)


serve(alpha=1)
