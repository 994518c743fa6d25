"""The words of a command -> Hydra's overrides among them: `key=value`, `+key=value`, `++key=value`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ...reading.bash.values import Word, whole
from ...reading.command_options import CommandOptions, setting
from ...reading.facts import Setting, Unknown
from ...reading.launchers import Started

#: A key that only verl's commands have.
TELLING = r"\bactor_rollout_ref\.actor\.\w+"
_KEY = re.compile(r"\+{0,2}([A-Za-z_][\w.@/-]*)=")
_WORDS = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}

Answer = bool | int | str | Unknown | None


@dataclass(frozen=True)
class Override:
    """One override: its key, the word that holds it, and the word of its value."""

    key: str
    word: Word
    value: Word

    @property
    def answer(self) -> Answer:
        """The value as Hydra reads it; None for null."""
        text = self.value.text
        if isinstance(text, Unknown):
            return text
        plain = text.strip("\"'")
        if "${" in plain:
            return Unknown(f"`{plain[:40]}` is filled in at the start")
        if plain.lower() in ("null", ""):
            return None
        number = whole(plain)
        return _WORDS.get(plain.lower(), plain) if number is None else number


@dataclass(frozen=True)
class Overrides:
    """Overrides of a command by key, the last one of a key counting; `defaults` are the program's values.

    Without `defaults` the configuration is the user's own, and holds what the command does not.
    """

    given: Mapping[str, Override]
    defaults: Mapping[str, Answer] | None
    options: CommandOptions

    def value(self, key: str) -> Answer:
        found = self.given.get(key)
        if found is not None:
            return found.answer
        if (hidden := self._hidden(key)) is not None:
            return hidden
        if self.defaults is None:
            return Unknown("the configuration that the command names is not here to be read")
        return self.defaults.get(key)

    def number(self, key: str) -> int | Unknown | None:
        value = self.value(key)
        if isinstance(value, bool | str):
            return Unknown(f"`{key}={value}` is not a whole number")
        return value

    def place(self, *keys: str) -> Word:
        """Where the first of these that is given has its value, else the command."""
        found = (self.given[key].value for key in keys if key in self.given)
        return next(found, self.options.command)

    def _hidden(self, key: str) -> Unknown | None:
        """Why an override cannot be known to be absent."""
        for unknown in self.options.hidden:
            if not unknown.alternatives or any(f"{key}=" in each for each in unknown.alternatives):
                return Unknown(f"`{key}` may be among the arguments: {unknown.reason}")
        return None


def overrides(launch: Started) -> Iterator[Override]:
    for word in launch.arguments:
        match = _KEY.match(word.lead)
        if match is not None:
            yield Override(match[1], word, word.cut(match.end()))


def settings(given: Mapping[str, Override]) -> Iterator[Setting]:
    """The overrides as settings of the program."""
    for each in given.values():
        yield setting("argument", each.key, each.word, (each.value.text,), each.value)
