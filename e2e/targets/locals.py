# Waits in frames whose variables have known values, of every kind. It first says what they are: for each
# thread and each of its functions, the name of a variable with its origin, type and value.
import abc, collections, ctypes, decimal, json, os, sys, threading

lock = threading.Lock()
lock.acquire()
begun = threading.Semaphore(0)
expected = {}


def wait():
    begun.release()
    lock.acquire()
    lock.release()


def expect(function, /, **variables):
    name = threading.current_thread().name
    expected.setdefault(name, {})[function] = variables


class Order:
    def __init__(self):
        self.number = 1
        self.price = 2.5

    def pay(self):
        pass


class Name(str):
    pass


class Whole(int):
    pass


class Abstract(abc.ABC):
    pass


class Mine(dict):
    pass


Point = collections.namedtuple("Point", "x y")


def large(number):
    digits = format(decimal.Decimal(number), ".2e")
    return "about %s, %d bits" % (digits.replace("+", ""), abs(number).bit_length())


def at(value):
    return "at %#x" % id(value)


def numbers():
    none, dots, yes, no = None, ..., True, False
    zero, small, negative, digit = 0, 7, -7, 1 << 30
    digits, four = (1 << 60) - 1, -(1 << 119) + 1
    big, huge = 10 ** 100, -(7 ** 20000)
    whole = Whole(17)
    half, tiny, great, exact = 3.5, 1e-05, 1e300, 1e15
    minus, no_number, infinite = -0.0, float("nan"), float("-inf")
    both, imaginary = complex(1.5, -2), 2j
    short, stepped = range(10), range(10, 0, -2)
    local = "local"
    expect(
        "numbers",
        none=[local, "NoneType", "None"],
        dots=[local, "ellipsis", "..."],
        yes=[local, "bool", "True"],
        no=[local, "bool", "False"],
        zero=[local, "int", "0"],
        small=[local, "int", "7"],
        negative=[local, "int", "-7"],
        digit=[local, "int", "1073741824"],
        digits=[local, "int", str(digits)],
        four=[local, "int", str(four)],
        big=[local, "int", large(big)],
        huge=[local, "int", large(huge)],
        whole=[local, "__main__.Whole", "17"],
        half=[local, "float", "3.5"],
        tiny=[local, "float", "1e-05"],
        great=[local, "float", "1e+300"],
        exact=[local, "float", "1000000000000000.0"],
        minus=[local, "float", "-0.0"],
        no_number=[local, "float", "nan"],
        infinite=[local, "float", "-inf"],
        both=[local, "complex", "(1.5-2j)"],
        imaginary=[local, "complex", "2j"],
        short=[local, "range", "range(0, 10)"],
        stepped=[local, "range", "range(10, 0, -2)"],
        local=[local, "str", "'local'"],
    )
    wait()


def wide_text():
    # Older versions have texts that were made as `wchar_t` and that nothing has needed in another form.
    if sys.version_info >= (3, 12):
        return "wide 中"
    make = ctypes.pythonapi.PyUnicode_FromUnicode
    make.argtypes, make.restype = [ctypes.c_void_p, ctypes.c_ssize_t], ctypes.py_object
    characters = ctypes.pythonapi.PyUnicode_AsUnicode
    characters.argtypes, characters.restype = [ctypes.py_object], ctypes.c_void_p
    text = make(None, 6)
    ctypes.memmove(characters(text), ctypes.create_unicode_buffer("wide 中"), 24)
    return text


def texts():
    ascii, latin, two, four = "abc", "na\xefve", "\u4e2d\u6587", "\U0001f600!"
    empty, long, control = "", "x" * 100, "a\nb\x1b[31m\u202e"
    mine, wide = Name("mine"), wide_text()
    plain, odd, none, array = b"abc", b"\x00\xff'", b"", bytearray(b"array")
    nothing = bytearray()
    url, query = "postgres://app:hunter2@db/shop", "a=1&password=hunter2"
    password, api_key, port = "hunter2", 12345, "http://localhost:8080/"
    local = "local"
    secret = "hidden: looks like a secret"
    expect(
        "texts",
        ascii=[local, "str", "'abc'"],
        latin=[local, "str", "'na\xefve'"],
        two=[local, "str", "'\u4e2d\u6587'"],
        four=[local, "str", "'\U0001f600!'"],
        empty=[local, "str", "''"],
        long=[local, "str", "'%s'\u2026 100 characters" % ("x" * 60)],
        control=[local, "str", "'a\\nb\\x1b[31m\\u202e'"],
        mine=[local, "__main__.Name", "'mine'"],
        wide=[local, "str", "'wide \u4e2d'"],
        plain=[local, "bytes", "b'abc'"],
        odd=[local, "bytes", "b\"\\x00\\xff'\""],
        none=[local, "bytes", "b''"],
        array=[local, "bytearray", "b'array'"],
        nothing=[local, "bytearray", "b''"],
        url=[local, "str", "30 characters, " + secret],
        query=[local, "str", "20 characters, " + secret],
        password=[local, "str", secret],
        api_key=[local, "int", secret],
        port=[local, "str", "'http://localhost:8080/'"],
        local=[local, "str", "'local'"],
        secret=[local, "str", secret],
    )
    wait()


def containers():
    three, many, nothing = [1, 2, 3], list(range(10)), []
    deep = [[1, [2, 3], 4, 5]]
    grown = [0]
    for number in range(1, 1000):
        grown.append(number)
    one, empty, point = (1,), (), Point(1, 2)
    mixed, counted = {"a": 1, 2: 3.5}, dict.fromkeys(range(70000), 0)
    no_names, cleared = {}, {1: 2}
    cleared.clear()
    removed = {"a": 1, "b": 2}
    del removed["a"]
    attributes, mine = vars(Order()), Mine(a=1)
    ordered = collections.OrderedDict([("z", 1), ("y", 2)])
    default = collections.defaultdict(list, {1: [2]})
    single, fixed, no_items = {1}, frozenset({"x"}), set()
    shrunk = {5, 6}
    shrunk.discard(5)
    queue, waiting = collections.deque(range(200)), collections.deque()
    for _ in range(100):
        queue.popleft()
    headers = {"Authorization": "Bearer x", "Accept": "y"}
    pairs = [("Cookie", "a"), (b"x-api-key", b"b"), ("Accept", "y")]
    nested = {"user": {"name": "x", "password": "y"}, "tags": {"a"}}
    local = "local"
    expect(
        "containers",
        three=[local, "list", "3 items: [1, 2, 3]"],
        many=[local, "list", "10 items: [0, 1, 2, 3, 4, \u2026]"],
        nothing=[local, "list", "0 items: []"],
        deep=[local, "list", "1 item: [[1, <list, 2 items>, 4, \u2026]]"],
        grown=[local, "list", "1000 items: [0, 1, 2, 3, 4, \u2026]"],
        number=[local, "int", "999"],
        one=[local, "tuple", "1 item: (1,)"],
        empty=[local, "tuple", "0 items: ()"],
        point=[local, "__main__.Point", "2 items: (1, 2)"],
        mixed=[local, "dict", "2 items: {'a': 1, 2: 3.5}"],
        counted=[local, "dict", "70000 items: {0: 0, 1: 0, 2: 0, 3: 0, 4: 0, \u2026}"],
        no_names=[local, "dict", "0 items: {}"],
        cleared=[local, "dict", "0 items: {}"],
        removed=[local, "dict", "1 item: {'b': 2}"],
        attributes=[local, "dict", "2 items: {'number': 1, 'price': 2.5}"],
        mine=[local, "__main__.Mine", "1 item: {'a': 1}"],
        ordered=[local, "collections.OrderedDict", "2 items: {'z': 1, 'y': 2}"],
        default=[local, "collections.defaultdict", "1 item: {1: [2]}"],
        single=[local, "set", "1 item: {1}"],
        fixed=[local, "frozenset", "1 item: frozenset({'x'})"],
        no_items=[local, "set", "0 items: set()"],
        shrunk=[local, "set", "1 item: {6}"],
        queue=[
            local,
            "collections.deque",
            "100 items: deque([100, 101, 102, 103, 104, \u2026])",
        ],
        waiting=[local, "collections.deque", "0 items: deque([])"],
        _=[local, "int", "99"],
        headers=[local, "dict", "2 items: {'Authorization': <hidden>, 'Accept': 'y'}"],
        pairs=[
            local,
            "list",
            "3 items: [('Cookie', <hidden>), (b'x-api-key', <hidden>), ('Accept', 'y')]",
        ],
        nested=[
            local,
            "dict",
            "2 items: {'user': {'name': 'x', 'password': <hidden>}, 'tags': {'a'}}",
        ],
        local=[local, "str", "'local'"],
    )
    wait()


def others():
    order, abstract = Order(), Abstract
    class_of, function, builtin, module = Order, wait, len, os
    bound, error = order.pay, ValueError("bad", 3)
    generator = (number for number in ())
    inside = [order, Order, wait, os, error]
    local = "local"
    expect(
        "others",
        order=[local, "__main__.Order", at(order)],
        abstract=[local, "abc.ABCMeta", "__main__.Abstract"],
        class_of=[local, "type", "__main__.Order"],
        function=[local, "function", "wait"],
        builtin=[local, "builtin_function_or_method", "len"],
        module=[local, "module", "os"],
        bound=[local, "method", "Order.pay"],
        error=[local, "ValueError", "('bad', 3)"],
        generator=[local, "generator", at(generator)],
        inside=[
            local,
            "list",
            "5 items: [<__main__.Order %s>, <class __main__.Order>, <function wait>, "
            "<module os>, ValueError('bad', 3)]" % at(order),
        ],
        local=[local, "str", "'local'"],
    )
    wait()


def arguments():
    def function(plain, in_cell, by_default=3, *rest, only_named, **named):
        local, local_in_cell, removed = 7, 8, 9
        del removed

        def inner(number):
            seen = in_cell + local_in_cell + number
            expect(
                "inner",
                number=["argument", "int", "10"],
                seen=["local", "int", "20"],
                in_cell=["outer", "int", "2"],
                local_in_cell=["outer", "int", "8"],
            )
            wait()

        expect(
            "function",
            plain=["argument", "int", "1"],
            in_cell=["argument", "int", "2"],
            by_default=["argument", "int", "3"],
            rest=["argument", "tuple", "1 item: (4,)"],
            only_named=["argument", "int", "5"],
            named=["argument", "dict", "1 item: {'more': 6}"],
            local=["local", "int", "7"],
            local_in_cell=["local", "int", "8"],
            inner=["local", "function", "arguments.<locals>.function.<locals>.inner"],
        )
        inner(10)

    function(1, 2, 3, 4, only_named=5, more=6)


def comprehension():
    kept = 5
    variables = {"kept": ["local", "int", "5"]}
    number = {"number": ["local", "int", "7"]}
    # It is a function of its own up to 3.11.
    if sys.version_info >= (3, 12):
        expect("comprehension", **variables, **number)
    else:
        expect("comprehension", **variables)
        expect("<listcomp>", **number)
    variables = number = None
    del variables, number
    [wait() for number in [7]]


def generators():
    def generator(first):
        second = first + 1
        expect(
            "generator", first=["argument", "int", "1"], second=["local", "int", "2"]
        )
        yield wait()

    async def coroutine(awaited):
        expect(
            "coroutine",
            awaited=["argument", "bool", "True"],
            generator=["outer", "function", "generators.<locals>.generator"],
        )
        list(generator(1))

    try:
        coroutine(True).send(None)
    except StopIteration:
        pass


def class_body():
    outside = 1

    class Body:
        own = outside + 1
        text = "abc"
        expect(
            "Body",
            own=["local", "int", "2"],
            text=["local", "str", "'abc'"],
            outside=["outer", "int", "1"],
        )
        wait()


def recursion(depth=3):
    here = depth * 10
    if depth:
        return recursion(depth - 1)
    expect(
        "recursion", depth=["argument", "int", "0"], here=["local", "int", "0"]
    )
    wait()


def busy():
    turns, kept = 0, "kept"
    expect("busy", kept=["local", "str", "'kept'"])
    begun.release()
    while lock.locked():
        turns += 1


scenarios = [
    numbers, texts, containers, others, arguments, comprehension, generators, class_body, recursion,
    busy,
]
threads = [threading.Thread(target=scenario, name=scenario.__name__) for scenario in scenarios]
for thread in threads:
    thread.start()
for _ in threads:
    begun.acquire()
os.write(1, (json.dumps(expected) + "\n").encode())
sys.stdin.read()
lock.release()
for thread in threads:
    thread.join()
print("done")
