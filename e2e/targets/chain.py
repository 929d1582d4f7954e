"""Works in the last of a chain of modules that import each other, all of them new: `chain.py FOLDER MODULES`. With `write`,
writes the modules there instead."""

import os
import sys

folder, count = sys.argv[1], int(sys.argv[2])
if sys.argv[3:] == ["write"]:
    import compileall

    os.makedirs(folder, exist_ok=True)
    for at in range(count):
        work = f"import chain_{at + 1}" if at + 1 < count else "import work_in_chain"
        with open(os.path.join(folder, f"chain_{at}.py"), "w") as file:
            file.write("v = 0\n" * 160 + work + "\n")
    with open(os.path.join(folder, "work_in_chain.py"), "w") as file:
        file.write("total = 0\nfor at in range(9000000):\n    total += at\n")
    compileall.compile_dir(folder, quiet=1)
else:
    sys.path.insert(0, folder)
    import chain_0
