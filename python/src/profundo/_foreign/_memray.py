"""What programs use of memray: ``Tracker`` and the places that it writes to."""

from __future__ import annotations

import os

from .._live.profile import profile

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType
    from typing import Any, Optional

    from .._live.region import Region

__version__ = "1.0.0"


class FileDestination:
    """A file to write to."""

    def __init__(self, path: Any, overwrite: bool = False, compress_on_exit: bool = True) -> None:
        self.path = path
        self.overwrite = overwrite


class FileFormat:
    """Formats, which make no difference here."""

    ALL_ALLOCATIONS = 1
    AGGREGATED_ALLOCATIONS = 2


class Tracker:
    """Records what a ``with`` allocates. The file that it names is a recording of Profundo's.

    ``profundo report FILE allocs`` reads it, and ``profundo.load``.
    """

    def __init__(
        self, file_name: Any = None, *, destination: Optional[FileDestination] = None, **_: Any
    ) -> None:
        if (file_name is None) == (destination is None):
            raise TypeError(
                "Exactly one of 'file_name' or 'destination' argument must be specified"
            )
        is_forced = destination is not None and destination.overwrite
        path = file_name if destination is None else getattr(destination, "path", None)
        self._path = None if path is None else os.path.abspath(os.fspath(path))
        if self._path is not None and os.path.exists(self._path) and not is_forced:
            raise OSError(f"Could not create output file {self._path}: File exists")
        self._region: Optional[Region] = None

    def __enter__(self) -> Tracker:
        self._region = profile("memray", memory=True)
        self._region.__enter__()
        return self

    def __exit__(
        self,
        kind: Optional[type[BaseException]] = None,
        error: Optional[BaseException] = None,
        trace: Optional[TracebackType] = None,
    ) -> None:
        region = self._region
        if region is not None:
            region.__exit__()
            if self._path is not None:
                region.save(self._path, "profundo", force=True)
