"""What the tests share: the command under test, and recordings of a small program.

``PROFUNDO_BINARY`` names the command; ``cargo xtask test`` sets it, and runs these tests with the
oldest and the newest Python of the machine.
"""

import atexit
import base64
import gzip
import html
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

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


def packages(*names):
    """A folder with packages of PyPI, for ``PYTHONPATH``; the test is skipped if there are none.

    Each set is installed once for each version of Python, below ``target``, and used again.
    """
    version = "{}.{}".format(*sys.version_info)
    target = os.path.join(ROOT, "target", "packages", "-".join((version,) + names))
    if not os.path.isdir(target):
        beside = f"{target}.{os.getpid()}"
        words = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        words += ["--target", beside, *names]
        done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if done.returncode != 0:
            shutil.rmtree(beside, True)
            said = done.stdout.decode("utf-8", "replace").strip().split("\n")[-1]
            raise unittest.SkipTest(f"{', '.join(names)} cannot be installed: {said}")
        try:
            os.rename(beside, target)
        except OSError:
            # Another run was faster.
            shutil.rmtree(beside, True)
    return target


def carried(text):
    """The answers that a page carries, by question: of a file, or of the cell of a notebook."""
    framed = re.match(r'<iframe srcdoc="([^"]*)"', text)
    page = text if framed is None else html.unescape(framed.group(1))
    packed = re.search(r'id="answers">([^<]*)<', page).group(1)
    return json.loads(gzip.decompress(base64.b64decode(packed)).decode())
