"""The file of the command ``profundo``.

An installer puts it into a folder of scripts, and there are several such folders: of a virtual
environment, of a user (``--user``), below a prefix (``--prefix``, or an overlay of uv), beside the
package (``--target``), or in an archive (zipapp). The folder that belongs to where this package
lies comes first, because that command is of the same version.
"""

import os
import sys

from ._error import Error

NAME = "profundo"

#: The variable that names another command, before all else.
VARIABLE = "PROFUNDO_BINARY"


def find():  # type: () -> str
    """The path of the command.

    Raises:
        Error: There is none. The message names every place that was looked at.
    """
    named = os.environ.get(VARIABLE)
    if named:
        if _is_program(named):
            return os.path.abspath(named)
        raise Error(f"{VARIABLE} names {named}, which is no program")
    package = _package()
    if not os.path.isdir(package):
        from . import _archive

        unpacked = _archive.command(package, NAME)
        if unpacked is not None:
            return unpacked
    tried: list = []
    for where, path in _places(package):
        if path in (earlier for _, earlier in tried):
            continue
        if _is_program(path):
            return path
        tried.append((where, path))
    # `profundo` by itself finds what the user would.
    for folder in os.get_exec_path():
        path = os.path.join(folder or os.curdir, NAME)
        if _is_program(path):
            return os.path.abspath(path)
    lines = [f"there is no command `{NAME}`; these places were looked at:"]
    lines += [f"  {path} ({where})" for where, path in tried]
    lines.append("  the folders of PATH")
    lines.append(f"{VARIABLE} can name it")
    raise Error("\n".join(lines))


def belongs_here(path):  # type: (str) -> bool
    """Whether a command was installed together with this package."""
    own = []
    for where, place in _places(_package()):
        # The others are only after these two.
        if where.startswith("the scripts"):
            break
        own.append(place)
    return not os.environ.get(VARIABLE) and path in own


def _places(package):
    """What each place is, and the command's path there; those of this package's own first."""
    above = os.path.dirname(package)
    prefix = _prefix(above)
    if prefix is not None:
        yield "the prefix of this package", os.path.join(prefix, "bin", NAME)
    yield "beside this package, as --target puts it", os.path.join(above, "bin", NAME)

    # These take some milliseconds to import, and are seldom wanted.
    import sysconfig

    yield "the scripts of this Python", os.path.join(sysconfig.get_path("scripts"), NAME)
    base = sysconfig.get_path("scripts", vars={"base": sys.base_prefix})
    yield "the scripts of its base", os.path.join(base, NAME)
    schemes = sysconfig.get_scheme_names()
    user = "osx_framework_user" if sys.platform == "darwin" else "posix_user"
    if user in schemes:
        scripts = sysconfig.get_path("scripts", scheme=user)
        yield "the scripts of this user", os.path.join(scripts, NAME)


def _package():  # type: () -> str
    """The folder of this package, which may be one in an archive."""
    return os.path.dirname(os.path.abspath(__file__))


def _prefix(packages):
    """The prefix that a folder of packages belongs to: ``PREFIX/lib/python3.X/site-packages``."""
    python, last = os.path.split(packages)
    library, version = os.path.split(python)
    prefix, lib = os.path.split(library)
    is_one = (
        last in ("site-packages", "dist-packages")
        and version.startswith("python")
        and lib in ("lib", "lib64")
    )
    return prefix if is_one else None


def _is_program(path):
    return os.path.isfile(path) and os.access(path, os.X_OK)
