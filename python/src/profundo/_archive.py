"""A command that lies in an archive with the package (zipapp).

The kernel runs no file of an archive, so it is unpacked into the user's cache, once for each
content. No other user may write to that folder.
"""

import os


def command(package, name):
    """The path of the unpacked command; ``None`` where the package lies in no archive with one."""
    archive = _archive_of(package)
    if archive is None:
        return None
    import zipfile

    inside = os.path.relpath(os.path.dirname(package), archive)
    member = os.path.normpath(os.path.join(inside, "bin", name)).replace(os.sep, "/")
    with zipfile.ZipFile(archive) as opened:
        try:
            entry = opened.getinfo(member)
        except KeyError:
            return None
        unique = f"{name}-{entry.CRC:08x}-{entry.file_size:x}"
        for folder in _folders():
            path = os.path.join(folder, unique)
            try:
                _make(folder)
                if not _is_whole(path, entry.file_size):
                    _write(path, opened.read(entry))
            except OSError:
                continue
            if os.access(path, os.X_OK):
                return path
    return None


def _archive_of(package):
    """The file that a path leads through."""
    path = package
    while True:
        above = os.path.dirname(path)
        if os.path.isfile(path):
            import zipfile

            return path if zipfile.is_zipfile(path) else None
        if above == path or os.path.isdir(path):
            return None
        path = above


def _folders():
    """Folders for it, the best first."""
    import tempfile

    home = os.path.expanduser("~")
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.join(home, ".cache")
    if os.path.isabs(cache):
        yield os.path.join(cache, "profundo")
    yield os.path.join(tempfile.gettempdir(), f"profundo-command-{os.geteuid()}")


def _make(folder):
    os.makedirs(os.path.dirname(folder), exist_ok=True)
    try:
        os.mkdir(folder, 0o700)
    except FileExistsError:
        pass
    # Among temporary files, any user could have made it.
    found = os.lstat(folder)
    if found.st_uid != os.geteuid() or found.st_mode & 0o022:
        raise PermissionError(f"{folder} belongs to others")


def _is_whole(path, size):
    try:
        return os.path.getsize(path) == size
    except OSError:
        return False


def _write(path, content):
    """Write a file that has its name only when it is whole."""
    beside = f"{path}.{os.getpid()}"
    try:
        with open(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o500), "wb") as file:
            file.write(content)
        os.rename(beside, path)
    except OSError:
        if os.path.exists(beside):
            os.remove(beside)
        raise
