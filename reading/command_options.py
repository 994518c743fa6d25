"""The words of a command -> its options with their places, and the unknown words that may be options too."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from .bash.values import Word, whole
from .facts import Setting, Unknown, Value
from .placeholders import filled


@dataclass(frozen=True)
class CommandOption:
    """One option: its name as written, the word that holds the name, and the words of its value."""

    name: str
    word: Word
    values: tuple[Word, ...]

    @property
    def place(self) -> Word:
        return self.values[0] if self.values else self.word


@dataclass(frozen=True)
class CommandOptions:
    """CommandOptions by name, the last one counting; `command` stands for the place of what is not said.

    `hidden` are words that nobody knows and that may be options: what is not given may be among them.
    """

    values: Mapping[str, CommandOption]
    command: Word
    hidden: tuple[Unknown, ...] = ()
    every: tuple[CommandOption, ...] = field(default=(), repr=False)

    def place(self, *names: str) -> Word:
        """Where the first of these options that is given stands: its value, else its name."""
        return next(
            (self.values[name].place for name in names if name in self.values), self.command
        )

    def given(self, name: str) -> bool:
        return name in self.values

    def absent(self, *names: str) -> Unknown | None:
        """Why an option cannot be known to be absent: an unknown word may be that option."""
        for unknown in self.hidden:
            texts = " ".join(unknown.alternatives).replace("_", "-")
            if not unknown.alternatives or any(f"{name} " in f"{texts} " for name in names):
                return Unknown(f"`{names[0]}` may be among the arguments: {unknown.reason}")
        return None

    def switch(self, name: str) -> bool | Unknown:
        """Whether a switch is on; some programs take `true` or `false` as its value."""
        option = self.values.get(name)
        if option is None:
            return self.absent(name) or False
        text = option.values[0].text if option.values else ""
        return not (isinstance(text, str) and text.lower() in ("false", "0", "no"))

    def text(self, name: str) -> str | Unknown | None:
        option = self.values.get(name)
        if option is None or not option.values:
            return None
        return option.values[0].text

    def number(self, name: str) -> int | Unknown | None:
        text = self.text(name)
        if isinstance(text, str):
            number = whole(text)
            return Unknown(f"`{name} {text}` is not a whole number") if number is None else number
        if text is None and name in self.values:
            return Unknown(f"`{name}` has no value")
        return text

    def count(self, name: str) -> int | Unknown:
        """The value of one of torchrun's counts, whose default is 1."""
        if not self.given(name):
            return self.absent(name) or 1
        number = self.number(name)
        return Unknown(f"`{name}` has no value") if number is None else number

    def settings(self, scope: str) -> Iterator[Setting]:
        for option in self.every:
            texts = tuple(word.text for word in option.values)
            yield setting(scope, option.name, option.word, texts, option.place)


def setting(
    scope: str,
    name: str,
    word: Word,
    values: tuple[Value | Unknown, ...],
    value: Word | None = None,
) -> Setting:
    """A setting at the place of a word; `value` is the word of its first value."""
    at = None if value is None else (value.path, value.line, value.column)
    length = max(1, len(name))
    return Setting(scope, name, values, word.path, word.line, word.column, length, at)


def options(command: Word, words: Sequence[Word], switches: Collection[str] = ()) -> CommandOptions:
    """The options among the arguments of a command: `--name value ...` or `--name=value`."""
    found, hidden = _options(filled(words), switches)
    return CommandOptions(
        {option.name: option for option in found}, command, tuple(hidden), tuple(found)
    )


def launcher_options(command: Word, words: Sequence[Word]) -> CommandOptions:
    """The options of a launcher, which reads `--nproc_per_node` as `--nproc-per-node`."""
    return spelled(options(command, words))


def spelled(given: CommandOptions, names: Mapping[str, str] | None = None) -> CommandOptions:
    """CommandOptions renamed by a table of spellings, with `-` for `_`."""
    renamed: dict[str, CommandOption] = {}
    for option in given.every:
        name = option.name.replace("_", "-")
        renamed[(names or {}).get(name, name)] = option
    return CommandOptions(renamed, given.command, given.hidden, given.every)


def _options(
    words: Sequence[Word], switches: Collection[str]
) -> tuple[list[CommandOption], list[Unknown]]:
    found: list[CommandOption] = []
    hidden: list[Unknown] = []
    current: tuple[str, Word, list[Word]] | None = None
    for word in words:
        lead = word.lead
        if word.text == "--":
            # What follows is for another parser; argparse takes no value across it.
            found += [CommandOption(current[0], current[1], tuple(current[2]))] if current else []
            current = None
            continue
        if _names(lead):
            if current is not None:
                found.append(CommandOption(current[0], current[1], tuple(current[2])))
            name, sign, _ = lead.partition("=")
            current = (name, word, [word.cut(len(name) + 1)] if sign else [])
            continue
        unknown = word.hidden
        extra = current is None or bool(current[2]) or current[0] in switches
        if unknown is not None and not unknown.unset and (extra or _many(unknown)):
            hidden.append(unknown)
        if current is not None and not (unknown is not None and extra):
            current[2].append(word)
    if current is not None:
        found.append(CommandOption(current[0], current[1], tuple(current[2])))
    return found, hidden


def _many(unknown: Unknown) -> bool:
    return unknown.several or any(" --" in f" {option}" for option in unknown.alternatives)


def _names(lead: str) -> bool:
    """Whether a word begins an option: a negative number does not."""
    if lead.startswith("--"):
        return len(lead) > 2
    return lead[:1] == "-" and lead[1:2].isalpha()
