# Every code object of many modules, with its line table and where each instruction comes from.
import ctypes, glob, os, sys

line_of = ctypes.pythonapi.PyCode_Addr2Line
line_of.argtypes = [ctypes.py_object, ctypes.c_int]

def show(value):
    return "-" if value is None else str(value)

def tell(code, out):
    if hasattr(code, "co_positions"):
        table = code.co_linetable
        positions = [",".join(map(show, position)) for position in code.co_positions()]
    else:
        table = getattr(code, "co_linetable", None) if sys.version_info >= (3, 10) else code.co_lnotab
        lines = [line_of(code, offset) for offset in range(0, len(code.co_code), 2)]
        positions = [show(None if line < 0 else line) + ",-,-,-" for line in lines]
    out.write("%s %d %s\n" % (table.hex() or "-", code.co_firstlineno, " ".join(positions)))
    for constant in code.co_consts:
        if hasattr(constant, "co_code"):
            tell(constant, out)

STRANGE = '''
def f(
    a, b=(1,
          2)):
    x = [i
         for i in a

         if i
    ]
    return (a
        .b(c,
           d)

        + %s)
def g():


    %s
    try: pass
    finally: return 1
''' % (" " * 400 + "1 +  2", "\n" * 400 + "    x = 1" + "; y = 2" * 100)

out = sys.stdout
tell(compile(STRANGE, "strange", "exec"), out)
folder = os.path.dirname(os.__file__)
for path in sorted(glob.glob(os.path.join(folder, "*.py")))[:int(sys.argv[1])]:
    with open(path, "rb") as file:
        try:
            tell(compile(file.read(), path, "exec"), out)
        except SyntaxError:
            pass
