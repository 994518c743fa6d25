"""Contents of launch files: facts and settings with their places, and parts that could not be read."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Literal

from ..dsl.inputs.files import OverLimit

if TYPE_CHECKING:
    from .bash.trace import Assignment, Expansion, TracedCommand

Value = bool | int | float | str


@dataclass(frozen=True)
class Unknown:
    """A fact that the text does not decide, and why.

    `alternatives` are the values that it may have, where they can be listed. `unset` names the variable that
    nothing sets, if that is the reason; `nonempty` says that it has a value, though nobody can say which.
    `several`: an array that another file may fill, which stands for any number of words.
    """

    reason: str
    alternatives: tuple[str, ...] = ()
    unset: str = ""
    nonempty: bool = False
    several: bool = False


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
    "sbatch", "environment", "json", "toml", "yaml" or "python". `name` is as written:
    `--tensor-model-parallel-size`, `zero_optimization.stage`, `--nodes`. A switch has no values; `--spec a b`
    has two. `length` covers the name's characters in the file, from `column`; a name that came out of an
    expansion has the place of the word that brought it. `value_at` is the place of its first value, where a
    fact of that value has it: the assignment of a variable; None for the setting's own place.
    """

    scope: str
    name: str
    values: tuple[Value | Unknown, ...]
    path: str
    line: int
    column: int = 1
    length: int = 1
    value_at: tuple[str, int, int] | None = field(default=None, repr=False, compare=False)


@dataclass(frozen=True)
class Unread:
    """Something that a reader met and could not follow, and why; `missing` where a file is not there,
    `sourced` where a script sources that file, which may set variables. `over_limit` where the reader goes no
    further, whatever is written there; `rest` where as many jobs as it reads come before, and are judged.
    `broken` where a script writes a config, all of it known, that its framework cannot parse. `itself` is the
    word by which a script starts itself."""

    reason: str
    path: str
    line: int
    column: int = 1
    missing: bool = False
    sourced: bool = False
    over_limit: bool = False
    rest: bool = False
    broken: bool = False
    itself: str = ""

    @staticmethod
    def because(
        error: Exception, path: str, line: int = 1, column: int = 1, what: str = ""
    ) -> Unread:
        """The reason of a reader's error; `what` comes before a mistake in the file itself."""
        over = isinstance(error, OverLimit)
        return Unread(str(error) if over else f"{what}{error}", path, line, column, over_limit=over)


@dataclass(frozen=True)
class Stop:
    """A test of a script that holds and ends it; `reads` are the variables that it asks for, `undecided` says
    that another test, which nothing decides, leads to it."""

    test: str
    path: str
    line: int
    column: int
    reads: tuple[Expansion, ...] = ()
    undecided: bool = False


Carrier = Literal["", "bash", "python", "yaml", "toml", "json"]
Scheduler = Literal["", "slurm", "kubernetes", "skypilot", "hosts"]


@dataclass(frozen=True)
class Kind:
    """Who reads a job's files, and what starts it; `UNREAD` where nothing can be said.

    `program` is the one whose options or keys the files have, "" for one that is not known: "megatron",
    "verl", "trainer". `variant` is one of several of it: "deepspeed" and "swift" of Megatron-LM's forks,
    "megatron" of verl's engines, "toml" and "python" of torchtitan's configurations. `carrier` is the
    language of the file that begins the job, "bash" for a command. `launcher` starts a command's processes.
    """

    program: str = ""
    variant: str = ""
    carrier: Carrier = ""
    launcher: str = ""
    scheduler: Scheduler = ""

    @property
    def name(self) -> str:
        """The program and its variant: "megatron-deepspeed"."""
        return "-".join(filter(None, (self.program, self.variant)))

    def involves(self, name: str) -> bool:
        """Whether it is the program, or the variant of it."""
        return name in (self.program, self.variant)

    def __str__(self) -> str:
        """As reports show it: "slurm+megatron", "torchtitan-toml-bash", "sbatch"."""
        if self.scheduler == "slurm":
            return f"slurm+{self.name}" if self.program else "sbatch"
        if self.scheduler:
            return "+".join(filter(None, (self.scheduler, self.name or self.launcher)))
        words = dict.fromkeys(filter(None, (self.program, self.variant, self.carrier)))
        return "-".join(words) or "unread"


#: The kind of a file that nobody could read.
UNREAD = Kind()


@dataclass(frozen=True)
class LaunchConfig:
    """One job as its launch files state it, with the parts that could not be read.

    `framework` is the name of a backend, None when nothing tells; `texts` are the files read. `program` is
    the launched file without its folder, or the module; "" where no command launches one or hides its name.
    `stops` are tests of the script that hold and end it before the command. `hidden` are
    words of the command that nobody knows and that may be options. `command` is where the command is written:
    path, line, column; `program_file` is the launched file as it is written there, or its path where
    a `cd` or a path of the machine leads to it. `trace` are the
    commands of its script, in the order in which they run, `assignments` what it sets its variables to,
    `reads` the variables that it expands.
    """

    kind: Kind
    facts: tuple[Fact, ...]
    unread: tuple[Unread, ...] = ()
    settings: tuple[Setting, ...] = ()
    framework: str | None = None
    texts: Mapping[str, str] = field(default_factory=dict)
    program: str = ""
    stops: tuple[Stop, ...] = ()
    hidden: tuple[Unknown, ...] = ()
    command: tuple[str, int, int] | None = None
    program_file: str = ""
    trace: tuple[TracedCommand, ...] = field(default=(), repr=False, compare=False)
    assignments: tuple[Assignment, ...] = field(default=(), repr=False, compare=False)
    reads: tuple[Expansion, ...] = field(default=(), repr=False, compare=False)

    def value(self, name: str) -> Value | Unknown | None:
        """The value of a fact, or None when the files say nothing of it."""
        return next((fact.value for fact in self.facts if fact.name == name), None)

    def values(self) -> dict[str, Value | Unknown]:
        return {fact.name: fact.value for fact in self.facts}

    def number(self, name: str) -> int | None:
        """The value of a fact when it is a known whole number."""
        value = self.values().get(name)
        return value if isinstance(value, int) and not isinstance(value, bool) else None

    @cached_property
    def _by_name(self) -> dict[tuple[str, str], list[Setting]]:
        found: dict[tuple[str, str], list[Setting]] = {}
        for setting in self.settings:
            found.setdefault((setting.scope, _spelling(setting)), []).append(setting)
        return found

    def all(self, scope: str, name: str | None = None) -> list[Setting]:
        """Settings of a scope, or those of one name, in the order of the files."""
        if name is not None:
            return self._by_name.get((scope, name), [])
        return [setting for setting in self.settings if setting.scope == scope]

    def setting(self, scope: str, *names: str) -> Setting | None:
        """The setting of the first of these names that is there; the last one given counts."""
        return next((found[-1] for name in names if (found := self.all(scope, name))), None)

    def option(self, *names: str) -> Setting | None:
        """An option of the training program."""
        return self.setting("argument", *names)

    def given(self, *names: str) -> bool:
        return self.option(*names) is not None

    def may_be_given(self, name: str) -> bool:
        """Whether an unknown word of the command may be this option."""
        return any(
            not each.alternatives
            or any(name in text.replace("_", "-").split() for text in each.alternatives)
            for each in self.hidden
        )


def texts_of(setting: Setting | None) -> tuple[str, ...]:
    """The known values of a setting as texts; none when it is not given."""
    values = () if setting is None else setting.values
    return tuple(str(value) for value in values if not isinstance(value, Unknown))


def text_of(setting: Setting | None) -> str | None:
    """A setting's one known value as text."""
    if setting is None or not setting.values or isinstance(setting.values[0], Unknown):
        return None
    return str(setting.values[0])


def number_of(setting: Setting | None) -> int | None:
    """A setting's one known value as a whole number."""
    return whole((text_of(setting) or "").replace("_", ""))


def whole(text: str) -> int | None:
    """A whole number in decimal digits; None for other text, and for more digits than any setting has."""
    return int(text) if re.fullmatch(r"[+-]?\d{1,18}", text, re.ASCII) else None


def dashed(name: str) -> str:
    """An option with `-` for `_`, as most programs take both."""
    return name.replace("_", "-") if name.startswith("--") else name


def _spelling(setting: Setting) -> str:
    """Launchers take `_` for `-` in their options, and so do Megatron-LM's forks."""
    if setting.scope in ("argument", "launcher", "sbatch"):
        return dashed(setting.name)
    return setting.name
