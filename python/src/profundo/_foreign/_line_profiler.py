"""What programs use of line_profiler: ``profile`` and ``LineProfiler``."""

from __future__ import annotations

import sys

from .._live.wrap import code_of
from ._shared import Decorated

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Optional

__version__ = "5.0.0"


class LineProfiler:
    """Decorates functions, whose lines are then sampled, and prints their tables."""

    def __init__(self, *functions: Any, **_: Any) -> None:
        self._decorated = Decorated()
        for function in functions:
            self.add_function(function)

    def __call__(self, function: Any) -> Any:
        return self._decorated.add(function)

    wrap_callable = wrap_function = __call__

    def add_function(self, function: Any) -> int:
        """Functions are followed that are decorated. This one goes on as it is."""
        return int(code_of(function) is not None)

    add_callable = add_function

    def add_module(self, module: Any, **_: Any) -> int:
        """As ``add_function``."""
        return 0

    def enable(self, *_: Any, **__: Any) -> None:
        """Sampling goes on while a decorated function runs."""

    disable = enable_by_count = disable_by_count = enable

    def __enter__(self) -> LineProfiler:
        return self

    def __exit__(self, *_: Any) -> None:
        pass

    def runcall(self, function: Any, *args: Any, **kwargs: Any) -> Any:
        """Call a function as if it were decorated."""
        return self(function)(*args, **kwargs)

    def run(self, code: str) -> LineProfiler:
        """Run a text in ``__main__``."""
        import __main__

        return self.runctx(code, __main__.__dict__, __main__.__dict__)

    def runctx(self, code: str, names: Any, inner: Any) -> LineProfiler:
        """Run a text with these names."""
        exec(code, names, inner)
        return self

    def print_stats(self, stream: Optional[Any] = None, **_: Any) -> None:
        """Print the tables."""
        self._decorated.print((sys.stdout if stream is None else stream).write)

    def dump_stats(self, path: Any) -> None:
        """Write the tables to a file, as text."""
        with open(path, "w", encoding="utf-8") as file:
            self.print_stats(file)


class GlobalProfiler(LineProfiler):
    """The ``profile`` that a program imports, or finds among its builtins."""

    @property
    def enabled(self) -> bool:
        """Always: it costs no more than what it is used for."""
        return True

    def show(self) -> None:
        """Print the tables."""
        self.print_stats()


profile = GlobalProfiler()
