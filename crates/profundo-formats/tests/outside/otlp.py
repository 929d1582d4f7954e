"""Reads a file of OTLP profiles with OpenTelemetry's own messages, checks the rules of the protocol, and
prints the own and total value of each function: of the profiles of one type."""

import sys
from collections import Counter

from opentelemetry.proto.profiles.v1development.profiles_pb2 import ProfilesData

path, wanted = sys.argv[1:3]
data = ProfilesData()
with open(path, "rb") as file:
    data.ParseFromString(file.read())
d = data.dictionary
texts = d.string_table
tables = {
    "mapping": d.mapping_table,
    "location": d.location_table,
    "function": d.function_table,
    "link": d.link_table,
    "string": texts,
    "attribute": d.attribute_table,
    "stack": d.stack_table,
}
used = {name: {0} for name in tables}
for name, table in tables.items():
    assert len(table) > 0, f"the table of {name} is empty"
    first = table[0] if name == "string" else table[0].SerializeToString()
    assert not first, f"the first {name} is not empty"
    rows = Counter(row if name == "string" else row.SerializeToString() for row in table)
    assert max(rows.values()) == 1, f"a {name} is there twice"


def use(name, index):
    assert 0 <= index < len(tables[name]), f"{name} {index}"
    used[name].add(index)
    return tables[name][index]


def attributes(indices):
    found = {}
    for index in indices:
        row = use("attribute", index)
        key = use("string", row.key_strindex)
        assert key not in found, f"{key} twice"
        found[key] = getattr(row.value, row.value.WhichOneof("value"))
    return found


def functions(stack):
    """The innermost first."""
    names = []
    for index in use("stack", stack).location_indices:
        location = use("location", index)
        attributes(location.attribute_indices)
        mapping = use("mapping", location.mapping_index)
        use("string", mapping.filename_strindex)
        attributes(mapping.attribute_indices)
        for line in location.lines:
            function = use("function", line.function_index)
            use("string", function.system_name_strindex)
            name = use("string", function.name_strindex)
            names.append((name, use("string", function.filename_strindex)))
    return names


own, total, seen = Counter(), Counter(), {}
types = []
for resource in data.resource_profiles:
    keys = [pair.key for pair in resource.resource.attributes]
    assert len(keys) == len(set(keys)) and "service.name" in keys, keys
    for scope in resource.scope_profiles:
        assert scope.scope.name == "profundo"
        for profile in scope.profiles:
            kind = use("string", profile.sample_type.type_strindex)
            use("string", profile.sample_type.unit_strindex)
            use("string", profile.period_type.type_strindex)
            use("string", profile.period_type.unit_strindex)
            if kind not in types:
                types.append(kind)
            identities, shapes = set(), set()
            end = profile.time_unix_nano + profile.duration_nano
            for sample in profile.samples:
                identity = sample.stack_index, frozenset(sample.attribute_indices)
                assert identity not in identities, "a sample is there twice"
                identities.add(identity)
                values, times = sample.values, sample.timestamps_unix_nano
                shapes.add((bool(values), bool(times)))
                assert values or times
                assert not times or len(times) == len(values)
                assert all(profile.time_unix_nano <= time < end for time in times)
                about = attributes(sample.attribute_indices)
                assert "thread.id" in about
                for key, value in about.items():
                    seen.setdefault(key, set()).add(str(value))
                names = functions(sample.stack_index)
                if kind == wanted:
                    own[names[0]] += sum(values)
                    for name in set(names):
                        total[name] += sum(values)
            assert len(shapes) <= 1, shapes
for name, table in tables.items():
    assert used[name] == set(range(len(table))), f"a {name} that nothing refers to"
print("types", *types)
for key, values in sorted(seen.items()):
    print("attribute", key, *sorted(values), sep="\t")
for (name, file), value in sorted(total.items()):
    print("function", name, file, own[name, file], value, sep="\t")
