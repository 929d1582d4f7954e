"""What Pythons before 3.8 have of this package: a program that uses it runs there, unrecorded.

Decorators return the function itself, and a ``with`` does nothing. Who asks for a profile gets an
error that says what is missing. This file is for every Python since 2.7.
"""

import sys

from ._error import Error

__all__ = [
    "Error",
    "diff",
    "heap_snapshot",
    "is_running",
    "lines",
    "load",
    "mark",
    "memit",
    "merge",
    "mprun",
    "pause",
    "profile",
    "resume",
    "span",
    "start",
    "stop",
]


def _error():
    here = ".".join(str(number) for number in sys.version_info[:3])
    return Error(
        "a Python program is recorded from within, and recordings are read, from Python 3.8 on, "
        "and this is Python " + here + "; of this program, `profundo run` shows the native functions"
    )


class _Nothing(object):
    """A region in which nothing is recorded."""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def __call__(self, function):
        """The function itself."""
        return function

    def __getattr__(self, name):
        # Copying and pickling ask for these, and expect that they may be missing.
        if name.startswith("__"):
            raise AttributeError(name)
        raise _error()


def profile(function=None, **_):
    """A region in which nothing is recorded, or the function itself."""
    return function if callable(function) else _Nothing()


def lines(function=None, **_):
    """The function itself."""
    return profile(function)


def span(_name, **_attributes):
    """A stretch of work that is not recorded."""
    return _Nothing()


def start(*_arguments, **_options):
    """A region in which nothing is recorded."""
    return _Nothing()


stop = start


def mark(_name):
    """Nothing."""


def pause():
    """Nothing."""


resume = pause


def is_running():
    """No."""
    return False


def load(*_arguments, **_options):
    """Raises the error."""
    raise _error()


diff = heap_snapshot = memit = merge = mprun = load
