"""argparse's parsers -> what their reference and man page say of each command and argument."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass

from parc.__main__ import parser


@dataclass(frozen=True)
class Argument:
    """One argument: the forms it is typed in, such as `-o OUT` and `--output OUT`, and what it means."""

    forms: tuple[str, ...]
    meaning: str
    optional: bool


@dataclass(frozen=True)
class Command:
    """A command, or parc itself: its words, what it does, its arguments and what its help ends with."""

    words: str
    summary: str
    arguments: tuple[Argument, ...]
    epilog: str

    @property
    def positional(self) -> tuple[Argument, ...]:
        return tuple(each for each in self.arguments if not each.forms[0].startswith("-"))

    @property
    def options(self) -> tuple[Argument, ...]:
        return tuple(each for each in self.arguments if each.forms[0].startswith("-"))

    @property
    def synopsis(self) -> str:
        """The words, `[options]` where there are some, and the positional arguments."""
        typed = [
            f"[{each.forms[0]}]" if each.optional else each.forms[0] for each in self.positional
        ]
        return " ".join([self.words, *(["[options]"] if self.options else []), *typed])


def commands() -> tuple[Command, ...]:
    """parc itself, then every command in the order of its help."""
    root = parser()
    (choices,) = (a for a in root._actions if isinstance(a, argparse._SubParsersAction))
    return (_command(root), *(_command(each) for each in choices.choices.values()))


def _command(of: argparse.ArgumentParser) -> Command:
    return Command(of.prog, of.description or "", tuple(_arguments(of)), of.epilog or "")


def _arguments(of: argparse.ArgumentParser) -> Iterator[Argument]:
    for action in of._actions:
        if isinstance(action, argparse._SubParsersAction):
            yield Argument(("COMMAND", "..."), "one of the commands below", False)
        elif action.help != argparse.SUPPRESS and not isinstance(action, argparse._HelpAction):
            meaning = (action.help or "") % (vars(action) | {"prog": of.prog})
            yield Argument(_forms(action), meaning, _optional(action))


def _optional(action: argparse.Action) -> bool:
    return action.nargs in (argparse.OPTIONAL, argparse.ZERO_OR_MORE)


def _forms(action: argparse.Action) -> tuple[str, ...]:
    """Typed forms of an argument: an option's names, each with its value, or a positional's name."""
    value = _value(action)
    if not action.option_strings:
        return (value,)
    return tuple(f"{name} {value}".rstrip() for name in action.option_strings)


def _value(action: argparse.Action) -> str:
    """The value as the help of argparse shows it: `FILE ...`, `{a,b}` or a name in capitals."""
    if action.nargs == 0:
        return ""
    name = action.metavar if isinstance(action.metavar, str) else action.dest.upper()
    if action.choices is not None and action.metavar is None:
        name = "{" + ",".join(map(str, action.choices)) + "}"
    several = action.nargs in (argparse.ONE_OR_MORE, argparse.ZERO_OR_MORE)
    return f"{name} ..." if several else name
