"""Command-line options as rows of a bash array: text, and the reason that stands behind it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from ....reading.facts import Unknown, Value
from ...languages import bash
from ...languages.bash import Bash

#: Comments of one array stand in one column, unless a row is wider than this.
_WIDEST = 52


@dataclass(frozen=True)
class Flag:
    """One option: its `name`, and `words` as they will stand in the script. `values` are those behind it, as
    far as they are known before the script runs."""

    name: str
    words: tuple[Bash, ...]
    why: str = ""
    values: tuple[Value | Unknown, ...] = ()


def flag(name: str, *values: object, why: str = "") -> Flag:
    """An option with literal values; argparse takes what begins with a dash only behind a `=`."""
    texts = tuple(map(str, values))
    if len(values) == 1 and texts[0].startswith("-"):
        return replace(_joined(name, bash.word(values[0]), why), values=texts)
    return Flag(name, (bash.word(name), *map(bash.word, values)), why, texts)


def paths(name: str, *values: str, why: str = "") -> Flag:
    """An option with paths, in which `$NAME` stays a variable. Behind a `=` argparse takes one value alone:
    several have `./` before a dash."""
    if len(values) == 1:
        return _joined(name, bash.path(values[0]), why)
    words = (bash.word(name), *(bash.path(bash.operand(value)) for value in values))
    return Flag(name, words, why, values)


def variable(name: str, key: str) -> Flag:
    """An option whose value is a shell variable."""
    return _joined(name, bash.variable(key))


def _joined(name: str, value: Bash, why: str = "") -> Flag:
    return Flag(name, (bash.option(name, value),), why, (Unknown("the script decides it"),))


def switches(*names: str) -> list[Flag]:
    return [flag(name) for name in names]


def rows(flags: Iterable[Flag]) -> list[Bash]:
    """One line per option, comments aligned."""
    pairs = [(bash.command(*item.words), item.why) for item in flags]
    width = max((len(text) for text, why in pairs if why and len(text) <= _WIDEST), default=0)
    return [bash.noted(text, why, width) for text, why in pairs]


def names(groups: Iterable[Sequence[Flag]]) -> set[str]:
    return {item.name for group in groups for item in group}
