"""What the tests share: the command under test, and recordings of a small program.

``PROFUNDO_BINARY`` names the command; ``cargo xtask test`` sets it, and runs these tests with the
oldest and the newest Python of the machine.
"""

import atexit
import os
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
SOURCES = os.path.join(ROOT, "python", "src")
PACKAGE = os.path.join(SOURCES, "profundo")

PROGRAM = """\
import math


def heavy(count):
    total = 0.0
    for number in range(count):
        total += math.sqrt(number) * 0.5  # "&<b>"
    return total


def light(count):
    return sum(range(count))


def main():
    for _ in range(5):
        heavy({heavy})
        light(500000)


main()
"""

_folder = None
_made = {}


def folder():
    """A folder of this run's, with the program in it."""
    global _folder
    if _folder is None:
        _folder = os.path.realpath(tempfile.mkdtemp(prefix="profundo-package-"))
        atexit.register(shutil.rmtree, _folder, True)
    return _folder


def command():
    """The command under test."""
    return os.environ["PROFUNDO_BINARY"]


def recording(name="before", heavy=300000, verb=("record",)):
    """The path of a recording; each is made once."""
    if name not in _made:
        program = os.path.join(folder(), "program.py")
        with open(program, "w") as file:
            file.write(PROGRAM.format(heavy=heavy))
        path = os.path.join(folder(), name + ".profundo")
        words = [command(), *verb, "--no-config", "-o", path, "--", sys.executable, program]
        subprocess.run(words, check=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        _made[name] = path
    return _made[name]


def python(code, *arguments, **options):
    """Run this Python with the package in its path; the completed process, with its text."""
    environment = dict(os.environ, PYTHONPATH=SOURCES)
    environment.update(options.pop("env", {}))
    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
        env={name: value for name, value in environment.items() if value is not None},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        universal_newlines=True,
        **options,
    )
