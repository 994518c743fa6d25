"""A command's words -> its long options, with the place of each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from .backend import Unknown
from .shell import Word


@dataclass(frozen=True)
class Options:
    """Options by name, the last one counting; `command` stands for the place of what is not said."""

    values: Mapping[str, Sequence[Word]]
    command: Word

    def place(self, *names: str) -> Word:
        """Where the first of these options that is given stands: its value, else its name."""
        return next((self.values[name][-1] for name in names if name in self.values), self.command)

    def given(self, name: str) -> bool:
        return name in self.values

    def text(self, name: str) -> str | Unknown | None:
        words = self.values.get(name)
        return None if words is None or len(words) < 2 else words[1].text

    def number(self, name: str) -> int | Unknown | None:
        text = self.text(name)
        if isinstance(text, str):
            return (
                int(text) if text.isdecimal() else Unknown(f"`{name} {text}` is not a whole number")
            )
        return text

    def count(self, name: str) -> int | Unknown:
        """The number behind one of torchrun's counts, which are 1 where they are not given."""
        if not self.given(name):
            return 1
        number = self.number(name)
        return Unknown(f"`{name}` has no value") if number is None else number


def options(command: Word, words: Sequence[Word]) -> Options:
    """The options among the words behind a command: `--name value ...` or `--name=value`."""
    return Options(_by_name(words), command)


def launcher_options(command: Word, words: Sequence[Word]) -> Options:
    """As `options`, for torchrun and its kin, which read `--nproc_per_node` as `--nproc-per-node`."""
    given = _by_name(words)
    return Options({name.replace("_", "-"): value for name, value in given.items()}, command)


def _by_name(words: Sequence[Word]) -> dict[str, list[Word]]:
    found: dict[str, list[Word]] = {}
    current: list[Word] = []
    for word in words:
        if isinstance(word.text, str) and word.text.startswith("--"):
            name, sign, value = word.text.partition("=")
            current = found[name] = [word]
            if sign:
                current.append(Word(value, word.line, word.column))
        else:
            current.append(word)
    return found
