"""Makes `v5.nettrace` and `v6.nettrace` by the documented layout of the format: two threads, two
methods of the runtime, samples, an allocation."""

import struct


def utf16(text):
    return text.encode("utf-16-le") + b"\0\0"


def leb(value):
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes(out + bytes([value]))


def short_text(text):
    return leb(len(text.encode())) + text.encode()


DATE = struct.pack("<8H", 2024, 2, 4, 29, 12, 30, 15, 0)
MAIN, WORK, ELSEWHERE = 0x1000, 0x2000, 0x9000
STACKS = [[WORK + 8, MAIN + 16], [MAIN + 32], [ELSEWHERE, MAIN + 16]]


def stacks():
    rows = b"".join(
        struct.pack("<I", 8 * len(row)) + struct.pack(f"<{len(row)}Q", *row) for row in STACKS
    )
    return struct.pack("<II", 1, len(STACKS)) + rows


def method(start, size, space, name, signature):
    head = struct.pack("<QQQIII", 7, 5, start, size, 0, 0)
    return head + utf16(space) + utf16(name) + utf16(signature) + struct.pack("<H", 0)


def module(path):
    return struct.pack("<QQII", 5, 6, 0, 0) + utf16(path) + utf16("")


def allocation(size, name):
    return struct.pack("<IIHQQ", 99, 0, 0, size, 3) + utf16(name) + struct.pack("<IQ", 0, 0)


# (thread, stack, milliseconds, 1: native code, 2: managed code)
SAMPLES = [(11, 1, 0, 2), (12, 2, 0, 1), (11, 1, 10, 2), (12, 2, 10, 1), (11, 3, 30, 2), (12, 2, 30, 2)]
TICKS = 10_000_000  # a second
BEGIN = 5_000


class V5:
    def __init__(self):
        name = b"!FastSerialization.1"
        self.out = bytearray(b"Nettrace" + struct.pack("<I", len(name)) + name)
        trace = DATE + struct.pack("<QQIIII", BEGIN, TICKS, 8, 4711, 2, 1_000_000)
        self.object("Trace", trace, is_block=False)

    def object(self, name, payload, is_block=True):
        kind = struct.pack("<III", 4, 4, len(name)) + name.encode()
        self.out += b"\5\5\1" + kind + b"\6"
        if is_block:
            self.out += struct.pack("<I", len(payload))
            self.out += bytes(-len(self.out) % 4)
        self.out += payload + b"\6"

    def events(self, name, rows, is_compressed):
        payload = struct.pack("<HHQQ", 20, int(is_compressed), 0, 0)
        before = (None, 0)
        for kind, thread, stack, time, body in rows:
            if is_compressed:
                flags = 4 | 8 | 128 | (1 if kind != before[0] else 0)
                flags |= 2 | 16 if before[0] is None and name == "EventBlock" else 0
                payload += bytes([flags])
                payload += leb(kind) if flags & 1 else b""
                payload += leb(1) + leb(thread) + leb(0) if flags & 2 else b""
                payload += leb(thread) + leb(stack) + leb(time - before[1])
                payload += bytes(16) if flags & 16 else b""
                payload += leb(len(body)) + body
                before = (kind, time)
            else:
                row = struct.pack("<IIQQIIQ", kind, 1, thread, thread, 0, stack, time)
                row += bytes(32) + struct.pack("<I", len(body)) + body
                payload += struct.pack("<I", len(row)) + row + bytes(-len(row) % 4)
        self.object(name, payload)


def metadata(number, provider, event, name):
    fields = struct.pack("<QIII", 0, 1, 4, 0)
    return (0, 0, 0, 0, struct.pack("<I", number) + utf16(provider) + struct.pack("<I", event) + utf16(name) + fields)


def v5():
    file = V5()
    runtime = "Microsoft-Windows-DotNETRuntime"
    kinds = [
        metadata(1, "Microsoft-DotNETCore-SampleProfiler", 0, "ThreadSample"),
        metadata(2, runtime, 10, "GCAllocationTick"),
        metadata(3, runtime + "Rundown", 144, "MethodDCEndVerbose"),
        metadata(4, runtime + "Rundown", 154, "ModuleDCEnd"),
        metadata(5, "Microsoft-DotNETCore-EventPipe", 1, "ProcessInfo"),
        metadata(6, "Other", 1, "Other"),
    ]
    file.events("MetadataBlock", kinds, True)
    file.object("StackBlock", stacks())
    time = lambda milliseconds: BEGIN + milliseconds * TICKS // 1000
    samples = [(1, t, s, time(ms), struct.pack("<I", kind)) for t, s, ms, kind in SAMPLES]
    file.events("EventBlock", samples[:3], True)
    rest = samples[3:] + [(2, 11, 1, time(20), allocation(102_400, "System.Byte[]"))]
    file.events("EventBlock", rest + [(6, 11, 1, time(20), b"x")], False)
    file.object("SPBlock", struct.pack("<QI", time(40), 0))
    names = [
        (3, 11, 0, time(40), method(MAIN, 64, "App.Program", "Main", "void  (class System.String[])")),
        (3, 11, 0, time(40), method(WORK, 32, "App.Program", "Work", "instance int32  ()")),
        (4, 11, 0, time(40), module("/app/App.dll")),
        (5, 11, 0, time(40), utf16("dotnet App.dll") + utf16("Linux") + utf16("x64")),
    ]
    file.events("EventBlock", names, False)
    return bytes(file.out) + b"\1"


def v6():
    out = b"Nettrace" + struct.pack("<III", 0, 6, 0)

    def block(kind, payload):
        return struct.pack("<I", len(payload) | kind << 24) + payload

    def row(payload):
        return struct.pack("<H", len(payload)) + payload

    def mapped_text(text):
        return struct.pack("<H", len(text)) + text.encode()

    keys = short_text("ProcessId") + short_text("1")
    out += block(1, DATE + struct.pack("<QQII", BEGIN, TICKS, 8, 1) + keys)
    kinds = [
        (1, "Universal.Events", "cpu"),
        (2, "Universal.System", "ProcessMapping"),
        (3, "Universal.System", "ProcessSymbol"),
    ]
    rows = [leb(n) + short_text(p) + leb(0) + short_text(e) + struct.pack("<HH", 0, 0) for n, p, e in kinds]
    out += block(3, struct.pack("<H", 0) + b"".join(map(row, rows)))
    threads = [
        leb(1) + b"\1" + short_text("main") + b"\2" + leb(4711) + b"\3" + leb(11),
        leb(2) + b"\1" + short_text("worker") + b"\2" + leb(4711) + b"\3" + leb(12),
    ]
    out += block(6, b"".join(map(row, threads)))
    out += block(5, stacks())
    payload = struct.pack("<HHQQ", 20, 1, 0, 0)
    mapping = leb(1) + leb(4711) + leb(MAIN) + leb(MAIN + 0x2000) + leb(0) + mapped_text("/app/App") + leb(0)
    symbols = [
        leb(1) + leb(1) + leb(MAIN) + leb(MAIN + 64) + mapped_text("main"),
        leb(2) + leb(1) + leb(WORK) + leb(WORK + 32) + mapped_text("work"),
    ]
    rows = [(2, 1, 0, 0, mapping)] + [(3, 1, 0, 0, symbol) for symbol in symbols]
    rows += [(1, t - 10, s, ms * TICKS // 1000, leb(kind)) for t, s, ms, kind in SAMPLES]
    last = 0
    for kind, thread, stack, time, body in rows:
        payload += bytes([1 | 4 | 8 | 16 | 128]) + leb(kind) + leb(thread) + leb(stack)
        payload += leb(time - last) + leb(0) + leb(len(body)) + body
        last = time
    return out + block(2, payload) + block(0, b"")


for name, data in ("v5", v5()), ("v6", v6()):
    with open(f"{name}.nettrace", "wb") as file:
        file.write(data)
