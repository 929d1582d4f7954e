"""What programs use of line_profiler: ``profile`` and ``LineProfiler``.

What is decorated is sampled, so that it runs as fast as without. What is added by its name is
counted between ``enable`` and ``disable``: nothing else tells when it runs.
"""

from __future__ import annotations

import os
import sys

from .._live.wrap import code_of
from ._shared import Decorated, Followed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Optional

__version__ = "5.0.0"

#: The variable and the argument by which a program's user wants the tables at its end.
_VARIABLE, _ARGUMENT = "LINE_PROFILE", "--line-profile"
_NO = ("", "0", "off", "false", "no")


class LineProfiler:
    """Samples the lines of decorated functions, counts those of added ones, and prints tables."""

    def __init__(self, *functions: Any, **_: Any) -> None:
        self._decorated = Decorated()
        self._followed = Followed()
        for function in functions:
            self.add_function(function)

    def __call__(self, function: Any) -> Any:
        return self._decorated.add(function)

    wrap_callable = wrap_function = __call__

    def add_function(self, function: Any, **_: Any) -> int:
        """Count the lines of a function while this is enabled."""
        code = code_of(function)
        if code is None:
            return 0
        self._followed.add(code)
        return 1

    add_callable = add_function

    def add_class(self, owner: Any, **_: Any) -> int:
        """As ``add_function``, of all methods of a class."""
        return sum(map(self.add_function, vars(owner).values()))

    def add_module(self, module: Any, **_: Any) -> int:
        """As ``add_function``, of all functions and classes that a module has of its own."""
        added = 0
        for one in list(vars(module).values()):
            if getattr(one, "__module__", None) == module.__name__:
                added += self.add_class(one) if isinstance(one, type) else self.add_function(one)
        return added

    def enable(self) -> None:
        """Count from now on."""
        self._followed.begin()

    def disable(self) -> None:
        """Count no longer."""
        self._followed.end()

    def enable_by_count(self) -> None:
        """Count until ``disable_by_count`` was called as often as this."""
        self._followed.depth += 1
        if self._followed.depth == 1:
            self._followed.begin()

    def disable_by_count(self) -> None:
        """See ``enable_by_count``."""
        if self._followed.depth:
            self._followed.depth -= 1
            if not self._followed.depth:
                self._followed.end()

    def __enter__(self) -> LineProfiler:
        self.enable_by_count()
        return self

    def __exit__(self, *_: Any) -> None:
        self.disable_by_count()

    def runcall(self, function: Any, *args: Any, **kwargs: Any) -> Any:
        """Call a function, and count meanwhile."""
        with self:
            return function(*args, **kwargs)

    def run(self, code: str) -> LineProfiler:
        """Run a text in ``__main__``."""
        import __main__

        return self.runctx(code, __main__.__dict__, __main__.__dict__)

    def runctx(self, code: str, names: Any, inner: Any) -> LineProfiler:
        """Run a text with these names, and count meanwhile."""
        with self:
            exec(code, names, inner)
        return self

    def print_stats(self, stream: Optional[Any] = None, **_: Any) -> None:
        """Print the tables."""
        write = (sys.stdout if stream is None else stream).write
        self._decorated.print(write)
        self._followed.print(write)

    def dump_stats(self, path: Any) -> None:
        """Write the tables to a file, as text."""
        with open(path, "w", encoding="utf-8") as file:
            self.print_stats(file)


class GlobalProfiler(LineProfiler):
    """The ``profile`` that a program imports, or finds among its builtins.

    Its tables are printed at the end of the program if ``LINE_PROFILE=1`` is in the environment or
    ``--line-profile`` among the arguments, or if the program has called ``enable``.
    """

    def __init__(self) -> None:
        super().__init__()
        self._is_expected = False
        self._is_wanted = (
            os.environ.get(_VARIABLE, "").lower() not in _NO or _ARGUMENT in sys.argv
        )

    @property
    def enabled(self) -> bool:
        """Always: it costs no more than what it is used for."""
        return True

    def __call__(self, function: Any) -> Any:
        if self._is_wanted:
            self._expect()
        return super().__call__(function)

    def enable(self, *_: Any, **__: Any) -> None:
        """Print the tables at the end of the program."""
        self._is_wanted = True
        self._expect()

    def disable(self) -> None:
        """Print nothing at the end of the program."""
        self._is_wanted = False

    def show(self) -> None:
        """Print the tables."""
        self.print_stats()

    def _expect(self) -> None:
        from .._live.sampler import SAMPLER

        if not self._is_expected:
            self._is_expected = True
            SAMPLER.expect_at_exit(self._end)

    def _end(self) -> None:
        from .._error import Error

        if self._is_wanted:
            try:
                self.show()
            except Error as error:
                sys.stderr.write(f"profundo: {error}\n")


profile = GlobalProfiler()
