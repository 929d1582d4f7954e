"""``python -m profundo`` becomes the command ``profundo``."""

import os
import sys

from ._error import Error


def main():  # type: () -> None
    """Replace this process by the command. It has the same arguments, streams and environment.

    A Python file that the command is to run, as in ``python -m profundo run app.py``, is run by
    this interpreter: the command reads its path in ``PROFUNDO_PYTHON``, which the program that it
    runs does not see.
    """
    # No f-strings here, so that Python 2.7 can say this.
    if sys.version_info < (3,):
        sys.exit("profundo: this Python is older than 3; call the command `profundo` itself")
    from ._binary import find

    try:
        binary = find()
    except Error as error:
        sys.exit("profundo: %s" % error)
    if sys.executable:
        os.environ.setdefault("PROFUNDO_PYTHON", sys.executable)
    try:
        os.execv(binary, ["profundo"] + sys.argv[1:])
    except OSError as error:
        sys.exit("profundo: cannot run %s: %s" % (binary, error.strerror))


if __name__ == "__main__":
    main()
