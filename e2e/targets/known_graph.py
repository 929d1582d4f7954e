"""A graph of objects of all kinds, and what the program itself knows of it.

`known_graph.py FILE` writes to the file a line of each object that the collector knows and of each that these hold:
its address, its size, its type, and the addresses of those that it holds. Then it says `ready`, and waits for the end of
its input.
"""

import array
import collections
import functools
import gc
import sys
import types
import weakref


class Slots:
    __slots__ = ("first", "second", "__weakref__")


class Meta(type):
    pass


class Made(metaclass=Meta):
    def method(self):
        return self


class Mapping(dict):
    pass


class Row(list):
    pass


class Pair(tuple):
    pass


class Group(set):
    pass


class Words(str):
    pass


class Leaks:
    cache = {}

    def __init__(self, number):
        self.number = number
        self.secret_attribute = "-".join(["kept", "in", "an", "attribute"])
        Leaks.cache[number] = self


def generator(held):
    for one in held:
        yield one


async def coroutine(held):
    await waits(held)


@types.coroutine
def waits(held):
    yield held


def closure(held):
    def inner():
        return held

    return inner


@functools.lru_cache(maxsize=None)
def remembered(number):
    return [number]


def build():
    ring = []
    ring.append(ring)
    shared = ["shared"]
    slots = Slots()
    slots.first, slots.second = shared, {"of": "slots"}
    made = Made()
    made.attribute = shared
    made.__dict__
    generators = generator([shared, 1, 2])
    next(generators)
    coroutines = coroutine(shared)
    coroutines.send(None)
    mapping = Mapping(a=shared)
    mapping.own = [1]
    row = Row([shared, 3])
    row.own = [2]
    group = Group([4, "five"])
    group.own = [3]
    pair = Pair((shared, 6))
    pair.own = [4]
    words = Words("words")
    words.own = [5]
    ordered = collections.OrderedDict(a=[1], b=[2])
    defaults = collections.defaultdict(list, {"a": [3]})
    for number in range(50):
        Leaks(number)
    remembered(1)
    remembered(2)
    return {
        "ring": ring,
        "slots": slots,
        "made": made,
        "weak": weakref.ref(made),
        "proxy": weakref.proxy(slots),
        "method": made.method,
        "closure": closure(shared),
        "generator": generators,
        "coroutine": coroutines,
        "mapping": mapping,
        "row": row,
        "group": group,
        "frozen": frozenset([(1, 2), "x"]),
        "pair": pair,
        "words": words,
        "ordered": ordered,
        "defaults": defaults,
        "deque": collections.deque([shared, [7]]),
        "array": array.array("d", range(100)),
        "partial": functools.partial(closure, shared, held=[8]),
        "remembered": remembered,
        "view": memoryview(bytearray(5000)),
        "iterator": iter(shared),
        "named": collections.namedtuple("Point", "x y")([9], [10]),
        "property": property(closure),
        "numbers": [2**200, 1.5, 2j, b"bytes", "text" * 10],
        "in a value": "".join(["a secret", " of the value"]),
        "".join(["a secret", " of the key"]): [11],
        "cell": (lambda: shared).__closure__,
        "bound of C": [].append,
        "slice": slice([1], [2]),
        "exception": ValueError([12]),
        "module": types.ModuleType("made_here"),
    }


kept = build()
gc.collect()
gc.disable()


def tell(path):
    known = gc.get_objects()
    passing = {id(known), id(sys._getframe())}
    seen = {id(one) for one in known}
    more = []
    for one in known:
        for held in gc.get_referents(one):
            if id(held) not in seen:
                seen.add(id(held))
                more.append(held)
    with open(path, "w") as out:
        for one in known + more:
            # What changes while it is being told of: frames, and what stands for variables.
            if id(one) in passing or isinstance(one, types.FrameType) or one is globals():
                continue
            if one is seen or one is passing or one is more:
                continue
            held = " ".join(str(id(held)) for held in gc.get_referents(one))
            kind = type(one)
            name = kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
            out.write(f"{id(one)}\t{sys.getsizeof(one)}\t{name}\t{int(gc.is_tracked(one))}\t{held}\n")
    return known, more, seen, passing


stays = tell(sys.argv[1])
# Nobody holds it but itself.
garbage = ["garbage"]
garbage.append(garbage)
del garbage
print("ready", flush=True)
sys.stdin.read()
