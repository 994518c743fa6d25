"""Rules of a framework for its options, one row a rule. Rows and a job's options -> the rows it breaks.

A backend lists its rows by the code of what they complain of, `CONSTRAINTS` of its package `constraints`;
rules between the degrees of a layout are `Predicate`s, which the compiler asks too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
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


class Above(Enum):
    """Values of which a row speaks, where it is no single one."""

    ONE = "> 1"
    FP32 = "not fp32"


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

    `since` is the release that began to insist; without it the rule is older than all that lint knows.
    `where` is an option without which nothing is looked at.
    """

    option: str
    needs: tuple[str, ...]
    source: str
    value: str | Above | None = None
    why: str = ""
    since: str = ""
    effect: Effect = Effect.STOPS
    where: str = ""

    def broken(self, job: Given) -> Broken | None:
        setting = job.option(self.option)
        if setting is None or not self._meant(setting) or not _there(job, self.where):
            return None
        if any(_has(job, wanted) for wanted in self.needs):
            return None
        value = f" {self.value}" if isinstance(self.value, str) else ""
        why = f": {self.why}" if self.why else ""
        message = f"{setting.name}{value} needs {' or '.join(self.needs)}{why}"
        return Broken(self, message, setting, help=f"add {self.needs[0]}")

    def _meant(self, setting: Setting) -> bool:
        """Whether the option has the value that the row is about."""
        if self.value is None:
            return True
        text = text_of(setting)
        if self.value is Above.ONE:
            return (number_of(setting) or 0) > 1
        if self.value is Above.FP32:
            return text is not None and text != "fp32"
        return text == self.value


@dataclass(frozen=True)
class Clash:
    """Two options that exclude each other: "--name", "--name value" or "--name > 1"."""

    one: str
    other: str
    source: str
    help: str | None = None
    since: str = ""
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
    effect: Effect = Effect.STOPS

    def broken(self, job: Given) -> Broken | None:
        setting, base = job.option(self.option), job.option(self.of)
        number, step = number_of(setting), number_of(base)
        if setting is None or base is None or not number or not step or number % step == 0:
            return None
        message = f"{self.option} {number} is no multiple of {self.of} {step}"
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
    effect: Effect = Effect.STOPS

    def broken(self, job: Given) -> Broken | None:
        setting = job.option(self.option)
        odd = next((text for text in texts_of(setting) if text not in self.words), None)
        if setting is None or odd is None:
            return None
        cure = f"{self.option} in {{{', '.join(self.words)}}}"
        return Broken(self, f"{self.option} has no value `{odd}`", setting, help=cure)


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
    return not value or text_of(setting) in (None, value)


def _there(job: Given, where: str) -> bool:
    return not where or job.option(where) is not None


def _with_value(job: Given, wanted: str) -> Setting | None:
    """The option, if it has the wanted value; `> 1` wants a number above one."""
    name, _, value = wanted.partition(" ")
    setting = job.option(name)
    if setting is None or not value:
        return None if number_of(setting) == 0 else setting
    if value == "> 1":
        return setting if (number_of(setting) or 0) > 1 else None
    return setting if text_of(setting) == value else None


def _float(setting: Setting | None) -> float | None:
    try:
        return float((text_of(setting) or "").replace("_", ""))
    except ValueError:
        return None
