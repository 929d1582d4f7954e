"""What is recorded, under the names that the command has for it."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any, List, Mapping, Optional, Union

#: ``False``, ``True`` (sampled), or ``"exact"``.
Memory = Union[bool, str]


@dataclass(frozen=True)
class Options:
    """What is recorded, as ``profundo run`` names it. ``None`` is the command's own default."""

    #: Samples per second of a thread's CPU time.
    rate: Optional[int] = None
    #: Where threads wait, too, and for how long; and what they read and write.
    wall: bool = False
    #: System calls with their errors, too; this implies ``wall``.
    syscalls: bool = False
    #: What is allocated and who keeps it; each single allocation if ``"exact"``.
    memory: Memory = False
    #: Child processes, too.
    children: bool = True

    def __post_init__(self) -> None:
        if self.rate is not None and not (_is_number(self.rate) and self.rate > 0):
            raise ValueError(f"rate is a number of samples per second, not {self.rate!r}")
        if self.memory not in (False, True, "exact"):
            raise ValueError(f'memory is False, True or "exact", not {self.memory!r}')

    def over(self, given: Mapping[str, Any]) -> Options:
        """These options with those that are given. ``None`` leaves one as it is.

        Raises:
            TypeError: There is no such option.
        """
        names = {field.name for field in fields(self)}
        for name in given:
            if name not in names:
                known = ", ".join(sorted(names))
                raise TypeError(f"there is no option {name!r}: the options are {known}")
        return replace(self, **{name: one for name, one in given.items() if one is not None})

    def with_all_of(self, other: Options) -> Options:
        """The options of one recording that has what both ask for."""
        rates = [rate for rate in (self.rate, other.rate) if rate is not None]
        return Options(
            rate=max(rates) if rates else None,
            wall=self.wall or other.wall,
            syscalls=self.syscalls or other.syscalls,
            memory=_more_of(self.memory, other.memory),
            children=self.children or other.children,
        )

    def words(self) -> List[str]:
        """The command's words for them."""
        words = [] if self.rate is None else [f"--rate={self.rate}"]
        words += ["--wall"] if self.wall else []
        words += ["--syscalls"] if self.syscalls else []
        if self.memory:
            words.append("--memory" if self.memory is True else f"--memory={self.memory}")
        return words + ([] if self.children else ["--no-children"])


def _more_of(one: Memory, other: Memory) -> Memory:
    return "exact" if "exact" in (one, other) else one or other


def _is_number(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
