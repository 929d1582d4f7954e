import dis, opcode
known = dict(opcode.opmap)
known.update(getattr(dis, "_all_opmap", {}))
try:
    import _opcode_metadata
    known.update(_opcode_metadata._specialized_opmap)
except ImportError:
    pass
for name, number in known.items():
    if number < 256:
        print(name, number)
