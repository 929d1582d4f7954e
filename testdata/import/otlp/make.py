"""Makes the files beside it with OpenTelemetry's own messages (PyPI opentelemetry-proto 1.45.2), in the
shape that the eBPF profiler and others give them."""

import struct

from google.protobuf.json_format import MessageToJson
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.profiles.v1development import profiles_pb2 as p


class Maker:
    def __init__(self):
        self.data = p.ProfilesData()
        d = self.dictionary = self.data.dictionary
        d.mapping_table.add(), d.location_table.add(), d.function_table.add()
        d.link_table.add(), d.attribute_table.add(), d.stack_table.add()
        d.string_table.append("")

    def text(self, text):
        table = self.dictionary.string_table
        if text not in table:
            table.append(text)
        return list(table).index(text)

    def row(self, table, row):
        if row not in table:
            table.append(row)
        return list(table).index(row)

    def attribute(self, key, value):
        any_value = AnyValue(int_value=value) if isinstance(value, int) else AnyValue(string_value=value)
        row = p.KeyValueAndUnit(key_strindex=self.text(key), value=any_value)
        return self.row(self.dictionary.attribute_table, row)

    def mapping(self, path, build_id=None):
        attributes = [self.attribute("process.executable.build_id.gnu", build_id)] if build_id else []
        row = p.Mapping(
            memory_start=0x1000, memory_limit=0x9000, filename_strindex=self.text(path), attribute_indices=attributes
        )
        return self.row(self.dictionary.mapping_table, row)

    def location(self, *lines, address=0, mapping=0, kind="native"):
        """Of (name, file, line), the innermost first."""
        row = p.Location(mapping_index=mapping, address=address)
        for name, file, line in lines:
            function = p.Function(name_strindex=self.text(name), filename_strindex=self.text(file))
            index = self.row(self.dictionary.function_table, function)
            row.lines.add(function_index=index, line=line)
        row.attribute_indices.append(self.attribute("profile.frame.type", kind))
        return self.row(self.dictionary.location_table, row)

    def stack(self, *locations):
        return self.row(self.dictionary.stack_table, p.Stack(location_indices=locations))

    def resource(self, attributes):
        resource = self.data.resource_profiles.add()
        for key, value in attributes.items():
            any_value = AnyValue(int_value=value) if isinstance(value, int) else AnyValue(string_value=value)
            resource.resource.attributes.append(KeyValue(key=key, value=any_value))
        scope = resource.scope_profiles.add()
        scope.scope.name = "go.opentelemetry.io/ebpf-profiler"
        return scope

    def profile(self, scope, kind, unit, period=None):
        profile = scope.profiles.add(time_unix_nano=START, duration_nano=5_000_000_000)
        profile.sample_type.type_strindex = self.text(kind)
        profile.sample_type.unit_strindex = self.text(unit)
        if period:
            profile.period_type.type_strindex = self.text("cpu")
            profile.period_type.unit_strindex = self.text("nanoseconds")
            profile.period = period
        return profile


START = 1_790_000_000_000_000_000
PERIOD = 50_000_000
m = Maker()
app = m.mapping("/srv/app", "ab12cd34")
main = m.location(("main", "/srv/main.c", 10), address=0x1100, mapping=app)
work = m.location(("leaf", "/srv/leaf.h", 3), ("work", "/srv/main.c", 20), address=0x1200, mapping=app)
unnamed = m.location(address=0x1300, mapping=app)
kernel = m.location(("do_syscall_64", "", 0), address=0xFFFFFFFF81000000, kind="kernel")
python = m.location(("<module>", "app.py", 7), kind="cpython")
handle = m.location(("handle", "app.py", 3), kind="cpython")
native = m.stack(work, main)
in_kernel = m.stack(kernel, work, main)
without_names = m.stack(unnamed, main)
interpreted = m.stack(handle, python)

scope = m.resource({"process.pid": 4001, "process.executable.name": "app", "service.name": "shop"})
on_cpu = m.profile(scope, "samples", "count", PERIOD)
thread = [m.attribute("thread.id", 4001), m.attribute("thread.name", "app")]
other = [m.attribute("thread.id", 4002), m.attribute("thread.name", "worker")]
times = lambda *ms: [START + number * 1_000_000 for number in ms]
on_cpu.samples.add(stack_index=native, attribute_indices=thread, timestamps_unix_nano=times(100, 300, 350))
on_cpu.samples.add(stack_index=in_kernel, attribute_indices=other, timestamps_unix_nano=times(150, 200), values=[1, 1])
on_cpu.samples.add(stack_index=without_names, attribute_indices=thread, timestamps_unix_nano=times(50))
off_cpu = m.profile(scope, "off_cpu", "nanoseconds")
off_cpu.samples.add(stack_index=in_kernel, attribute_indices=other, timestamps_unix_nano=times(400), values=[7_000_000])
second = m.resource({"process.pid": 4100, "process.command_line": "python3 app.py"})
on_cpu = m.profile(second, "samples", "count", PERIOD)
on_cpu.samples.add(stack_index=interpreted, attribute_indices=[m.attribute("thread.id", 4100)], timestamps_unix_nano=times(120))
cpu = m.data.SerializeToString()
with open("cpu.otlp", "wb") as out:
    out.write(cpu)
with open("framed.otlp", "wb") as out:
    out.write((struct.pack(">I", len(cpu)) + cpu) * 2)
with open("cpu.json", "w") as out:
    out.write(MessageToJson(m.data, indent=None) + "\n")

m = Maker()
main = m.location(("main", "/srv/main.c", 10))
fill = m.location(("fill", "/srv/main.c", 30))
scope = m.resource({"service.name": "shop"})
for kind, unit, amounts in [
    ("alloc_objects", "count", (12, 3)),
    ("alloc_space", "bytes", (1200, 4096)),
    ("inuse_objects", "count", (2, 3)),
    ("inuse_space", "bytes", (200, 4096)),
]:
    profile = m.profile(scope, kind, unit)
    profile.samples.add(stack_index=m.stack(fill, main), values=[amounts[0]])
    profile.samples.add(stack_index=m.stack(main), values=[amounts[1]])
with open("heap.otlp", "wb") as out:
    out.write(m.data.SerializeToString())
