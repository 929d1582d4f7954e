"""What is recorded, under the names that the command has for it."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, List, Mapping, Optional, Union

    #: ``False``, ``True`` (sampled), or ``"exact"``.
    Memory = Union[bool, str]
    #: ``False``, ``True`` (each call), ``"lines"`` or ``"exceptions"``.
    Trace = Union[bool, str]

#: The names of options, as keyword arguments.
NAMES = ("rate", "wall", "syscalls", "memory", "children", "trace")

_TRACES = (False, True, "calls", "lines", "exceptions")
#: What is not recorded of a region that counts.
_NOT_COUNTED = ("rate", "wall", "syscalls", "memory")


class Options:
    """What is recorded, as ``profundo run`` names it. It is not changed after it was made."""

    __slots__ = NAMES

    def __init__(
        self,
        rate: Optional[int] = None,
        wall: bool = False,
        syscalls: bool = False,
        memory: Memory = False,
        children: bool = True,
        trace: Trace = False,
    ) -> None:
        if rate is not None and (isinstance(rate, bool) or not isinstance(rate, int) or rate < 1):
            raise ValueError(f"rate is a number of samples per second, not {rate!r}")
        if memory not in (False, True, "exact"):
            raise ValueError(f'memory is False, True or "exact", not {memory!r}')
        if trace not in _TRACES:
            raise ValueError(
                f'trace is False, True (each call), "lines" or "exceptions", not {trace!r}'
            )
        for name, value in zip(_NOT_COUNTED, (rate, wall, syscalls, memory)):
            if trace and value:
                raise ValueError(
                    f"a region that counts records nothing else: {name} does not go with trace"
                )
        #: Samples per second of a thread's CPU time; ``None`` is the command's own default.
        self.rate = rate
        #: Where threads wait, too, and for how long; and what they read and write.
        self.wall = bool(wall)
        #: System calls with their errors, too; this implies ``wall``.
        self.syscalls = bool(syscalls)
        #: What is allocated and who keeps it; each single allocation if ``"exact"``.
        self.memory = memory
        #: Child processes, too.
        self.children = bool(children)
        #: What is counted in place of all that: ``"calls"``, ``"lines"`` or ``"exceptions"``.
        self.trace: Union[bool, str] = "calls" if trace is True else trace

    def over(self, given: Mapping[str, Any]) -> Options:
        """These options with those that are given. ``None`` leaves one as it is.

        Raises:
            TypeError: There is no such option.
        """
        for name in given:
            if name not in NAMES:
                known = ", ".join(NAMES)
                raise TypeError(f"there is no option {name!r}: the options are {known}")
        values = self.values()
        # What is given decides over defaults that do not go with it.
        if given.get("trace"):
            values.update(Options().values(), children=self.children)
        elif any(given.get(name) for name in _NOT_COUNTED):
            values["trace"] = False
        values.update((name, value) for name, value in given.items() if value is not None)
        return Options(**values)

    @property
    def of_recorder(self) -> Options:
        """What the recorder needs for a region that counts: it takes no samples of that."""
        return Options(children=self.children)

    def with_all_of(self, other: Options) -> Options:
        """The options of one recording that has what both ask for."""
        rates = [rate for rate in (self.rate, other.rate) if rate is not None]
        is_exact = "exact" in (self.memory, other.memory)
        return Options(
            rate=max(rates) if rates else None,
            wall=self.wall or other.wall,
            syscalls=self.syscalls or other.syscalls,
            memory="exact" if is_exact else self.memory or other.memory,
            children=self.children or other.children,
        )

    def values(self) -> dict[str, Any]:
        """Their values by name."""
        return {name: getattr(self, name) for name in NAMES}

    def words(self) -> List[str]:
        """The command's words for them."""
        words = [] if self.rate is None else [f"--rate={self.rate}"]
        words += ["--wall"] if self.wall else []
        words += ["--syscalls"] if self.syscalls else []
        if self.memory:
            words.append("--memory" if self.memory is True else f"--memory={self.memory}")
        return words + ([] if self.children else ["--no-children"])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Options) and self.values() == other.values()

    def __hash__(self) -> int:
        return hash(tuple(self.values().values()))

    def __repr__(self) -> str:
        return "Options({})".format(", ".join(f"{k}={v!r}" for k, v in self.values().items()))
