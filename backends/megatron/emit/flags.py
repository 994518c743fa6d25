"""Command-line options as rows of a bash array: text, and the reason that stands behind it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ...languages import bash
from ...languages.bash import Bash

#: Comments of one array stand in one column, unless a row is wider than this.
_WIDEST = 52


@dataclass(frozen=True)
class Flag:
    """One option: its `name`, and `words` as they will stand in the script."""

    name: str
    words: tuple[Bash, ...]
    why: str = ""


def flag(name: str, *values: object, why: str = "") -> Flag:
    """An option with literal values; argparse takes what begins with a dash only behind a `=`."""
    if len(values) == 1 and str(values[0]).startswith("-"):
        return _joined(name, bash.word(values[0]), why)
    return Flag(name, (bash.word(name), *map(bash.word, values)), why)


def paths(name: str, *values: str, why: str = "") -> Flag:
    """An option with paths, in which `$NAME` stays a variable. Behind a `=` argparse takes one value alone:
    several have `./` before a dash."""
    if len(values) == 1:
        return _joined(name, bash.path(values[0]), why)
    return Flag(name, (bash.word(name), *(bash.path(bash.operand(value)) for value in values)), why)


def variable(name: str, key: str) -> Flag:
    """An option whose value is a shell variable."""
    return _joined(name, bash.variable(key))


def _joined(name: str, value: Bash, why: str = "") -> Flag:
    return Flag(name, (bash.option(name, value),), why)


def switches(*names: str) -> list[Flag]:
    return [flag(name) for name in names]


def rows(flags: Iterable[Flag]) -> list[Bash]:
    """One line per option, comments aligned."""
    pairs = [(bash.command(*item.words), item.why) for item in flags]
    width = max((len(text) for text, why in pairs if why and len(text) <= _WIDEST), default=0)
    return [bash.noted(text, why, width) for text, why in pairs]


def names(groups: Iterable[Sequence[Flag]]) -> set[str]:
    return {item.name for group in groups for item in group}
