"""Parts of every language: text that a writer made, the places of a template, and who writes there."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ...dsl.syntax.quoting import UNWRITABLE

#: Stands in `Language.places` for a mark that closes its place.
CLOSE = ""


class Written(str):
    """Text of a language, as its writers made it; each language has a class of its own."""

    __slots__ = ()


#: A kind of text that is inserted as it is, and what writes any other value; without one what writes texts.
Writer = tuple[type[Written] | None, Callable[[Any], Written]]


@dataclass(frozen=True)
class Language:
    """`places` says of each place which marks open another one in it, and which close it; `writers` who
    writes a value there. `code` makes the author's own text one of the language."""

    name: str
    suffixes: tuple[str, ...]
    code: Callable[[str], Written]
    marks: re.Pattern[str]
    places: Mapping[str, Mapping[str, str]]
    writers: Mapping[str, Writer]

    def behind(self, open: tuple[str, ...], text: str) -> tuple[str, ...]:
        """The places that are open behind a text, the innermost last, where `open` are those before it."""
        for mark in self.marks.findall(text):
            entered = self.places[open[-1]].get(mark)
            if entered is not None:
                open = open[:-1] if entered == CLOSE else (*open, entered)
        return open

    def takes_code(self, place: str) -> bool:
        """Whether text of the language stands in a place as it is."""
        return self.writers[place][0] is not None

    def write(self, place: str, value: object) -> Written:
        """A value as it stands in a place. Raises `ValueError` for what the language cannot hold there."""
        kept, writer = self.writers[place]
        if kept is not None and isinstance(value, kept):
            return value
        return writer(value if kept else plain_text(value))


def plain_text(value: object) -> str:
    """A text itself, and the digits of a number; anything else belongs into no text."""
    if isinstance(value, str):
        return str(value)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return repr(value)
    raise TypeError(f"{value!r} is no text")


def writable(text: str) -> str:
    """The text itself. Raises `ValueError` for one that no file can hold; `parc.dsl` refuses it in a job."""
    if found := UNWRITABLE.search(text):
        raise ValueError(f"no file holds {ascii(found[0])}")
    return text


def one_line(text: str) -> str:
    """A text for a comment: characters that end a line or are not printable are spelled out."""
    return "".join(each if each.isprintable() else repr(each)[1:-1] for each in text)
