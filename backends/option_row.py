"""One row an option of a framework: what parc knows of it, asked by readers, `extra`, import, logs and lint.

Kinds of value and releases are in the framework's `released_options.csv`, which its own code writes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from ..reading.facts import LaunchConfig, Setting, Value, number_of

#: Blocks of the language whose settings an option may state.
Block = Literal["model", "train", "target"]
#: Who decides an option: a block of the job; the search of a layout; `watched` tells where things are written
#: and shown; `chosen` parc chooses with every job; `other` is any that no job says.
Owner = Literal["model", "train", "layout", "target", "watched", "chosen", "other"]
Read = Callable[[Setting | None], Any]


@dataclass(frozen=True)
class OptionRow:
    """One option, by the name that the newest release has for it.

    `setting`: the setting of the owner's block that its value is, as `read` decodes it.
    `fact`: the fact that its value is, and `default` what holds where it is not given; None for no fact.
    `printed`: the figure of a run that its value in a log is, "" for none; the fact unless given.
    `older`: names of older releases and of forks that mean the same.
    `values`: words of the option, in small letters, and what the fact is with each; empty where the fact is
    the value as it stands.
    `words`: the values that a job can say; empty for all.
    `said`: how a job says it, where `extra` would set it.
    `lost`: no job says it, whoever decides it. `extra`: `extra` may set it where the job writes none.
    `fork`: older releases or forks have it, none that parc writes for; `switch`: it takes no value there.
    `positive`: a number above 0; `checked`: words that the framework itself takes, after its parser.
    `replaces`: names that are gone, with the same value, which readers do not take for it.
    `below`: whatever stands below it in a file has the same owner.
    """

    name: str
    owner: Owner
    setting: str = ""
    read: Read = number_of
    fact: str = ""
    default: Value | None = None
    printed: str | None = None
    older: tuple[str, ...] = ()
    values: tuple[tuple[str, Value], ...] = ()
    words: tuple[str, ...] = ()
    said: str = ""
    lost: bool = False
    extra: bool = False
    fork: bool = False
    switch: bool = False
    positive: bool = False
    checked: tuple[str, ...] = ()
    replaces: tuple[str, ...] = ()
    below: bool = False

    @property
    def path(self) -> tuple[str, ...]:
        """The keys that lead to it in a file of sections."""
        return tuple(self.name.split("."))

    @property
    def names(self) -> tuple[str, ...]:
        """Every name that means the same, today's first."""
        return (self.name, *self.older)

    def decoded(self, word: Value) -> Value | None:
        """The fact that a word of the option states; None for a word that it does not have."""
        return dict(self.values).get(str(word).lower())

    def encoded(self, fact: Value) -> str | None:
        """The word of the option that states a fact, the first of several; None where none does."""
        return next((word for word, value in self.values if value == fact), None)


@dataclass(frozen=True)
class OptionRows:
    """The rows of a framework, and what follows from them; `scope` is that of its settings in files, beside
    options of a command, which begin with dashes."""

    scope: str
    rows: tuple[OptionRow, ...]

    @cached_property
    def by_name(self) -> Mapping[str, OptionRow]:
        return {row.name: row for row in self.rows}

    @cached_property
    def today(self) -> Mapping[str, str]:
        """Name of an older release or a fork -> today's."""
        return {older: row.name for row in self.rows for older in row.older}

    @cached_property
    def renamed(self) -> Mapping[str, str]:
        """Name that is gone -> today's, with the same meaning and value."""
        pairs = ((gone, row.name) for row in self.rows for gone in (*row.older, *row.replaces))
        return dict(pairs)

    @cached_property
    def expressed(self) -> frozenset[str]:
        """Names of options that a job says, that parc decides, or that concern logs and places."""
        rows = (row for row in self.rows if not row.lost and row.owner != "other")
        return frozenset(name for row in rows for name in row.names)

    @cached_property
    def decided(self) -> tuple[str, ...]:
        """Options that the job or the layout decides, in this plan or in another, as patterns of names."""
        blocks = ("model", "train", "layout")
        rows = [row for row in self.rows if row.owner in blocks and not row.fork and not row.extra]
        sections = tuple(row.name for row in rows if row.below)
        own = (row.name for row in rows if self._scope(row.name) == self.scope)
        return (
            *(name for name in own if not name.startswith(sections)),
            *(f"{section}*" for section in sections),
        )

    @cached_property
    def said(self) -> Mapping[str, str]:
        """Options that settings of the target's block write, and how each is said."""
        return {row.name: row.said for row in self.rows if row.said}

    def printed(self, owner: Owner) -> Mapping[str, str]:
        """Figure of a run -> the argument that a log shows of it, of the options of one owner."""
        rows = ((row, row.fact if row.printed is None else row.printed) for row in self.rows)
        return {
            figure: row.name.strip("-").replace("-", "_")
            for row, figure in rows
            if figure and row.owner == owner
        }

    @cached_property
    def facts(self) -> tuple[OptionRow, ...]:
        """Options whose value is a fact as it stands."""
        return tuple(row for row in self.rows if row.fact)

    def fact(self, name: str) -> OptionRow:
        """The option whose value is a fact."""
        return next(row for row in self.facts if row.fact == name)

    def setting(self, block: Block, name: str) -> OptionRow:
        """The option of a setting of a block."""
        return self._by_setting[block, name]

    @cached_property
    def _by_setting(self) -> Mapping[tuple[str, str], OptionRow]:
        return {(row.owner, row.setting): row for row in self.rows if row.setting}

    def values(
        self,
        config: LaunchConfig,
        block: Block,
        names: Iterable[str] = (),
        scope: str | None = None,
    ) -> dict[str, Any]:
        """The settings of a block that the files give, or those named among them; `scope` may be another."""
        wanted = names or (name for owner, name in self._by_setting if owner == block)
        rows = (self._by_setting[block, name] for name in wanted)
        values = {row.setting: row.read(self._written(config, row, scope)) for row in rows}
        return {setting: value for setting, value in values.items() if value is not None}

    def _written(self, config: LaunchConfig, row: OptionRow, scope: str | None) -> Setting | None:
        """A name of the command among those of a file counts first."""
        own = self._scope(row.name)
        return config.setting(scope if scope and own == self.scope else own, *row.names)

    def _scope(self, name: str) -> str:
        return "argument" if name.startswith("-") else self.scope
