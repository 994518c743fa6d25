"""Command-line options as rows of a bash array: text, and the reason that stands behind it."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ...render import quoted_text

_PLAIN = re.compile(r"[\w./:=+@%-]+")
#: Comments of one array stand in one column, unless a row is wider than this.
_WIDEST = 52


@dataclass(frozen=True)
class Flag:
    """One option: `words` are shell text as it will stand in the script."""

    words: tuple[str, ...]
    why: str = ""

    @property
    def name(self) -> str:
        return self.words[0]


def flag(name: str, *values: object, why: str = "") -> Flag:
    """An option with literal values; texts are quoted where bash needs it."""
    return Flag((name, *(quoted(value) for value in values)), why)


def variable(name: str, key: str) -> Flag:
    """An option whose value is a shell variable."""
    return Flag((name, f'"${key}"'))


def switches(*names: str) -> list[Flag]:
    return [Flag((name,)) for name in names]


def quoted(value: object) -> str:
    text = repr(value) if isinstance(value, float) else str(value)
    return text if _PLAIN.fullmatch(text) else f'"{escaped(text)}"'


def path(text: str) -> str:
    """A path as one word, in which `$NAME` stays a variable."""
    return text if _PLAIN.fullmatch(text) else f'"{quoted_text(text)}"'


def escaped(text: str) -> str:
    """Text as it must stand between double quotes."""
    return re.sub(r'([\\"$`])', r"\\\1", text)


def rows(flags: Iterable[Flag]) -> list[str]:
    """One line per option, comments aligned."""
    pairs = [(" ".join(item.words), item.why) for item in flags]
    width = max((len(text) for text, why in pairs if why and len(text) <= _WIDEST), default=0)
    return [f"{text:<{width}}  # {why}" if why else text for text, why in pairs]


def names(groups: Iterable[Sequence[Flag]]) -> set[str]:
    return {item.name for group in groups for item in group}
