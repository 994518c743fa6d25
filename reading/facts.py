"""What launch files say: facts and settings with their places, and what could not be followed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

Value = bool | int | float | str


@dataclass(frozen=True)
class Unknown:
    """A fact that the text does not decide, and why.

    `alternatives` are the values that it may have, where they can be listed. `unset` names the variable that
    nothing sets, if that is the reason; `nonempty` says that it has a value, though nobody can say which.
    """

    reason: str
    alternatives: tuple[str, ...] = ()
    unset: str = ""
    nonempty: bool = False


@dataclass(frozen=True)
class Fact:
    """One thing a launch file says: its name in `vocabulary.FACTS`, its value, and where, counted from 1."""

    name: str
    value: Value | Unknown
    path: str
    line: int
    column: int = 1


@dataclass(frozen=True)
class Setting:
    """One thing as the framework is given it, in the words of the file.

    `scope` says who reads it: "argument" (the training program), "launcher" (torchrun, deepspeed, srun),
    "sbatch", "environment", "json", "toml" or "python". `name` is as written: `--tensor-model-parallel-size`,
    `zero_optimization.stage`, `--nodes`. A switch has no values; `--spec a b` has two. `length` covers the
    name's characters in the file, from `column`; a name that came out of an expansion has the place of the
    word that brought it.
    """

    scope: str
    name: str
    values: tuple[Value | Unknown, ...]
    path: str
    line: int
    column: int = 1
    length: int = 1


@dataclass(frozen=True)
class Unread:
    """Something that a reader met and could not follow, and why."""

    reason: str
    path: str
    line: int
    column: int = 1


@dataclass(frozen=True)
class LaunchConfig:
    """What a reader understood of the launch files of one job, and what it could not read.

    `framework` is "megatron", "deepspeed", "torchtitan" or None when nothing tells; `texts` are the files
    read.
    """

    kind: str
    facts: tuple[Fact, ...]
    unread: tuple[Unread, ...] = ()
    settings: tuple[Setting, ...] = ()
    framework: str | None = None
    texts: Mapping[str, str] = field(default_factory=dict)

    def value(self, name: str) -> Value | Unknown | None:
        """The value of a fact, or None when the files say nothing of it."""
        return next((fact.value for fact in self.facts if fact.name == name), None)

    def values(self) -> dict[str, Value | Unknown]:
        return {fact.name: fact.value for fact in self.facts}
