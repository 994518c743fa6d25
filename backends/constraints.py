"""Rules of a framework for its options, one row a rule. Rows and a job's options -> the rows it breaks.

A backend lists its rows by the code of what they complain of, `CONSTRAINTS` of its package `constraints`;
rules between the degrees of a layout are `Predicate`s, which the compiler asks too. An option is a word of a
command (`--name`) or a key of a file (`section.key`, whose truth values are written as `true` and `false`).
A row holds in releases from `since` on and before `until`; without them the rule is older than all that lint
knows, and there still.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from typing import Protocol, TypeAlias

from ..compiler.target import Effect
from ..reading.facts import Setting, number_of, text_of, texts_of


class Given(Protocol):
    """A job's options; a `LaunchConfig` is one."""

    def option(self, *names: str) -> Setting | None:
        """The option under the first of these names that is there."""

    def may_be_given(self, name: str) -> bool:
        """Whether an unknown word of the command may be this option."""


@dataclass(frozen=True)
class FileKeys:
    """A configuration file's keys as a job's options: a section is there if a key below it is, and a value
    that another program fills in ("auto") is not known."""

    keys: Mapping[str, Setting]

    def option(self, *names: str) -> Setting | None:
        return next((setting for name in names if (setting := self._key(name))), None)

    def may_be_given(self, name: str) -> bool:
        return False

    def _key(self, name: str) -> Setting | None:
        setting = self.keys.get(name)
        if setting is None:
            below = (each for key, each in self.keys.items() if key.startswith(f"{name}."))
            setting = next(below, None)
            return None if setting is None else replace(setting, name=name, values=())
        return setting if setting.values != ("auto",) else replace(setting, values=())


class Range(Enum):
    """Values of which a row speaks, where it is no single one."""

    ABOVE_ONE = "> 1"
    BELOW_ONE = "< 1"
    NOT_FP32 = "not fp32"


@dataclass(frozen=True)
class Broken:
    """A row that a job breaks: at which option, beside which others, and what to type."""

    row: Constraint
    message: str
    at: Setting
    others: tuple[Setting, ...] = ()
    help: str | None = None


@dataclass(frozen=True)
class Need:
    """`option` (with this value) needs one of `needs`: "--name" or "--name value".

    `where` is what is there if the row says anything, as in a `Clash`; `help` is what to write, which is the
    first need unless given.
    """

    option: str
    needs: tuple[str, ...]
    source: str
    value: str | Range | None = None
    why: str = ""
    since: str = ""
    until: str = ""
    effect: Effect = Effect.STOPS
    where: str = ""
    help: str = ""

    def broken(self, job: Given) -> Broken | None:
        setting = job.option(self.option)
        if setting is None or not self._meant(setting) or not _there(job, self.where):
            return None
        if any(_has(job, wanted) for wanted in self.needs):
            return None
        value = "" if self.value is None else f" {_word(setting)}"
        why = f": {self.why}" if self.why else ""
        message = f"{setting.name}{value} needs {_either(self.needs)}{why}"
        others = tuple(other for name in _names(self.needs) if (other := job.option(name)))
        cure = self.help or (self.needs[0] if others else f"add {self.needs[0]}")
        return Broken(self, message, setting, others, cure)

    def _meant(self, setting: Setting) -> bool:
        """Whether the option has the value that the row is about."""
        if self.value is None:
            return True
        if self.value is Range.ABOVE_ONE:
            return (number_of(setting) or 0) > 1
        if self.value is Range.BELOW_ONE:
            number = _float(setting)
            return number is not None and number < 1
        if self.value is Range.NOT_FP32:
            return text_of(setting) not in (None, "fp32")
        return _word(setting) == self.value


@dataclass(frozen=True)
class Clash:
    """Two options that exclude each other: "--name", "--name value" or "--name > 1"."""

    one: str
    other: str
    source: str
    help: str | None = None
    since: str = ""
    until: str = ""
    effect: Effect = Effect.STOPS
    where: str = ""

    def broken(self, job: Given) -> Broken | None:
        one, other = _with_value(job, self.one), _with_value(job, self.other)
        if one is None or other is None or not _there(job, self.where):
            return None
        message = f"{self.one} and {self.other} exclude each other"
        return Broken(self, message, one, (other,), self.help)


@dataclass(frozen=True)
class OneOf:
    """Options of which a job has one at most: each is `what`."""

    options: tuple[str, ...]
    what: str
    source: str
    since: str = ""
    until: str = ""
    effect: Effect = Effect.STOPS

    def broken(self, job: Given) -> Broken | None:
        first, second, *_ = *filter(None, map(job.option, self.options)), None, None
        if first is None or second is None:
            return None
        message = f"{first.name} and {second.name} are both {self.what}s"
        return Broken(self, message, first, (second,), "keep one")


@dataclass(frozen=True)
class Multiple:
    """The number behind `option` is a multiple of the one behind `of`."""

    option: str
    of: str
    source: str
    since: str = ""
    until: str = ""
    effect: Effect = Effect.STOPS

    def broken(self, job: Given) -> Broken | None:
        setting, base = job.option(self.option), job.option(self.of)
        number, step = number_of(setting), number_of(base)
        if setting is None or base is None or not number or not step or number % step == 0:
            return None
        message = f"{self.option} {number} is not a multiple of {self.of} {step}"
        return Broken(self, message, setting, (base,))


@dataclass(frozen=True)
class AtMost:
    """The number behind `option` is at most the one behind `limit`.

    The complaint stands at the option, or at the limit where that is what to raise (`raised`).
    """

    option: str
    limit: str
    source: str
    raised: bool = False
    since: str = ""
    until: str = ""
    effect: Effect = Effect.STOPS

    def broken(self, job: Given) -> Broken | None:
        setting, limit = job.option(self.option), job.option(self.limit)
        least, most = _float(setting), _float(limit)
        if setting is None or limit is None or least is None or most is None or least <= most:
            return None
        number, top = text_of(setting), text_of(limit)
        if self.raised:
            message = f"{limit.name} {top} is less than {setting.name} {number}"
            return Broken(self, message, limit, (setting,), f"{limit.name} {number}")
        message = f"{self.option} {number} is above {self.limit} {top}"
        return Broken(self, message, setting, (limit,))


@dataclass(frozen=True)
class Ignored:
    """An option that is parsed and then ignored, and what to write instead."""

    option: str
    since: str
    instead: str | None = None
    source: str = ""
    until: str = ""
    effect: Effect = Effect.IGNORES

    def broken(self, job: Given) -> Broken | None:
        setting = job.option(self.option)
        if setting is None:
            return None
        cure = f"use {self.instead}" if self.instead else "remove it"
        return Broken(self, f"{setting.name} is ignored", setting, help=cure)


@dataclass(frozen=True)
class Words:
    """The words that an option takes, where the framework looks after its parser."""

    option: str
    words: tuple[str, ...]
    source: str
    since: str = ""
    until: str = ""
    effect: Effect = Effect.STOPS

    def broken(self, job: Given) -> Broken | None:
        setting = job.option(self.option)
        odd = next((text for text in texts_of(setting) if text not in self.words), None)
        if setting is None or odd is None:
            return None
        cure = f"{self.option} in {{{', '.join(self.words)}}}"
        return Broken(self, f"{self.option} does not take `{odd}`", setting, help=cure)


Constraint: TypeAlias = Need | Clash | OneOf | Multiple | AtMost | Ignored | Words
#: Code of what rows complain of -> the rows.
Constraints: TypeAlias = Mapping[str, tuple[Constraint, ...]]


def broken(
    rows: Iterable[Constraint], job: Given, holds: Callable[[Constraint], bool] = lambda row: True
) -> Iterator[Broken]:
    """The rows that a job breaks, of those that hold in its release."""
    for row in rows:
        fault = row.broken(job)
        if fault is not None and holds(row):
            yield fault


def _has(job: Given, wanted: str) -> bool:
    name, _, value = wanted.partition(" ")
    setting = job.option(name)
    if setting is None:
        return job.may_be_given(name)
    return not value or _word(setting) in (None, value)


def _word(setting: Setting | None) -> str | None:
    """The only value as a row has it; None where it is not known."""
    text = text_of(setting)
    return text.lower() if text in ("True", "False") else text


def _names(wanted: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(each.partition(" ")[0] for each in wanted))


def _either(wanted: tuple[str, ...]) -> str:
    """Words for one of several options, or for one of several values of an option."""
    names = _names(wanted)
    if len(names) > 1 or len(wanted) == 1:
        return " or ".join(wanted)
    *values, last = (each.partition(" ")[2] for each in wanted)
    return f"{names[0]} {', '.join(values)} or {last}"


def _there(job: Given, where: str) -> bool:
    return not where or _with_value(job, where) is not None


def _with_value(job: Given, wanted: str) -> Setting | None:
    """The option, if it has the wanted value; `> 1` wants a number above one."""
    name, _, value = wanted.partition(" ")
    setting = job.option(name)
    if setting is None or not value:
        return None if number_of(setting) == 0 else setting
    if value == "> 1":
        return setting if (number_of(setting) or 0) > 1 else None
    return setting if _word(setting) == value else None


def _float(setting: Setting | None) -> float | None:
    try:
        return float((text_of(setting) or "").replace("_", ""))
    except ValueError:
        return None
