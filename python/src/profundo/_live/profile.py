"""``profundo.profile``: a region, as a ``with`` and as a decorator."""

from __future__ import annotations

from . import off
from .config import defaults
from .region import Region

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Optional, TypeVar, overload

    from .._profile import Path
    from .options import Memory, Trace

    F = TypeVar("F", bound=Callable[..., Any])
else:

    def overload(function):
        return function


@overload
def profile(function: F, /) -> F: ...


@overload
def profile(  # noqa: F811
    name: Optional[str] = None,
    /,
    *,
    memory: Optional[Memory] = None,
    wall: Optional[bool] = None,
    rate: Optional[int] = None,
    syscalls: Optional[bool] = None,
    trace: Optional[Trace] = None,
    children: Optional[bool] = None,
    threads: Optional[bool] = None,
    output: Optional[Path] = None,
    print: bool = False,
) -> Region: ...


def profile(  # noqa: F811
    what: Any = None,
    /,
    *,
    threads: Optional[bool] = None,
    output: Optional[Path] = None,
    print: bool = False,
    **options: Any,
) -> Any:
    """A region of the program, whose profile can be asked for afterwards.

        with profundo.profile() as p:
            work()
        p.print()

        @profundo.profile
        def load(path): ...

        load.profile.print()             # of all calls so far

    Functions, generators and ``async def`` can be decorated, with or without options. Regions may
    nest, overlap, and run in threads and tasks at the same time.

    Args:
        name: What the region is called in reports. A function has its own name.
        memory: Record what is allocated and who keeps it, too; each allocation if ``"exact"``.
        wall: Record where threads wait, too, and for how long.
        rate: Samples per second of a thread's CPU time; 1000 by default.
        syscalls: Record system calls and their errors, too.
        trace: Count and time each call in place of all that, as ``profundo trace`` does; each line
            of your own files if ``"lines"``, each exception if ``"exceptions"``.
        children: Whether child processes are recorded, too; ``True`` by default.
        threads: Whether what all threads do meanwhile belongs to it. By default it does where a
            ``with`` is in the main thread and outside of any task. Otherwise a region has what its
            own thread or task does, and the tasks that it creates.
        output: A file, written when the process ends, in the format of its name.
        print: Print the first screen on the standard error when the process ends.

    With ``PROFUNDO=0`` in the environment, decorators return the function itself, and nothing is
    recorded. If it cannot be recorded, the program goes on, and the profile raises :class:`Error`
    when it is asked.
    """
    if off.IS_OFF:
        return what if _is_function(what) else off.region()
    name = None if _is_function(what) else what
    if name is not None and not isinstance(name, str):
        raise TypeError(f"profile takes a function or a name, not {name!r}")
    region = Region(name, defaults().over(options), threads=threads, output=output, print=print)
    return region(what) if _is_function(what) else region


def _is_function(what: Any) -> bool:
    return callable(what) or isinstance(what, (staticmethod, classmethod, property))
