"""A DeepSpeed config as DeepSpeed reads it (Hjson: comments, loose quotes), with the place of each key.

The text may come out of a script: what is unknown in it stays unknown, and the rest is read.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from ....dsl.inputs.files import OverLimit
from ....reading.bash.source import PlacedText
from ....reading.facts import Unknown, Value

Place = tuple[str, int, int]
Entry = "Member | list[Entry] | Value | Unknown | None"
DEEPEST = 40
#: Characters of the longest config; real ones have a few thousand.
LONGEST = 256 * 1024


class NotADocument(ValueError):
    """Where a text stops being Hjson, and why."""

    def __init__(self, message: str, place: Place):
        super().__init__(message)
        self.place = place


class TooMuch(NotADocument, OverLimit):
    """Where a text goes beyond what is read."""


@dataclass(frozen=True)
class Member:
    """One key: where it stands, how many characters it has there, where its value stands, and the value."""

    name: str
    place: Place
    length: int
    at: Place
    value: object


@dataclass
class Table:
    """The members of an object by name, the last counting; `repeated` are earlier ones of the same name."""

    members: dict[str, Member] = field(default_factory=dict)
    repeated: list[Member] = field(default_factory=list)

    def find(self, *names: str) -> Member | None:
        """A member of nested objects."""
        table: object = self
        found = None
        for name in names:
            found = table.members.get(name) if isinstance(table, Table) else None
            if found is None:
                return None
            table = found.value
        return found

    def flat(self, prefix: str = "") -> Iterator[tuple[str, Member]]:
        """Every member that holds no object, by its dotted name."""
        for name, member in self.members.items():
            if isinstance(member.value, Table):
                yield from member.value.flat(f"{prefix}{name}.")
            else:
                yield prefix + name, member


_BLANK = re.compile(r"(?:[\s\ufeff]|#[^\n]*|//[^\n]*|/\*.*?(?:\*/|\Z))*", re.DOTALL)
_NAME = re.compile(r"[^\s:,{}\[\]\"']+")
_STRING = re.compile(r'"((?:[^"\\\n]|\\.)*)"|\'((?:[^\'\\\n]|\\.)*)\'')
_BARE = re.compile(r"[^\n,\]}#]*")
_NUMBER = re.compile(r"-?(?:0|[1-9]\d*)(\.\d+)?([eE][-+]?\d+)?")
_WORDS: Mapping[str, bool | None] = {"true": True, "false": False, "null": None}


def document(source: PlacedText) -> Table:
    """Raises `NotADocument`."""
    if len(source.text) > LONGEST:
        message = f"it has {len(source.text):,} characters, at most {LONGEST:,} are read"
        raise TooMuch(message, source.place(0))
    reader = _Reader(source)
    reader.blank()
    found = reader.value(0) if reader.text[reader.position :][:1] == "{" else reader.table(0, False)
    reader.blank()
    if not isinstance(found, Table):
        raise NotADocument("it is not an object", source.place(0))
    if reader.position < len(reader.text):
        raise reader.failed("the object ends before the text")
    return found


@dataclass
class _Reader:
    source: PlacedText
    position: int = 0

    @property
    def text(self) -> str:
        return self.source.text

    def failed(self, message: str) -> NotADocument:
        place = self.source.place(min(self.position, max(0, len(self.text) - 1)))
        return NotADocument(message, place)

    def blank(self) -> None:
        match = _BLANK.match(self.text, self.position)
        self.position = match.end() if match else self.position

    def take(self, character: str) -> bool:
        if self.text.startswith(character, self.position):
            self.position += 1
            return True
        return False

    def table(self, depth: int, closed: bool = True) -> Table:
        found = Table()
        while True:
            self.blank()
            if self.position >= len(self.text):
                if closed:
                    raise self.failed("an object is open")
                return found
            if closed and self.take("}"):
                return found
            member = self.member(depth)
            if member.name in found.members:
                found.repeated.append(found.members[member.name])
            found.members[member.name] = member
            self.blank()
            self.take(",")

    def member(self, depth: int) -> Member:
        start = self.position
        match = _STRING.match(self.text, start) or _NAME.match(self.text, start)
        if match is None:
            raise self.failed("a key is missing")
        name = match[match.lastindex or 0]
        self.position = match.end()
        self.blank()
        if not self.take(":"):
            raise self.failed(f"`:` is missing behind `{name[:40]}`")
        self.blank()
        at = self.source.place(min(self.position, max(0, len(self.text) - 1)))
        value = self.value(depth + 1)
        return Member(name, self.source.place(start), match.end() - start, at, value)

    def value(self, depth: int) -> object:
        if depth > DEEPEST:
            place = self.source.place(min(self.position, len(self.text) - 1))
            raise TooMuch(f"it is nested more than {DEEPEST} levels deep", place)
        if self.take("{"):
            return self.table(depth)
        if self.take("["):
            return self.array(depth)
        if match := _STRING.match(self.text, self.position):
            self.position = match.end()
            return self.known(match[match.lastindex or 0], quoted=True)
        match = _BARE.match(self.text, self.position)
        text = match[0] if match else ""
        comment = text.find(" //")
        text = text[:comment] if comment >= 0 else text
        if not text.strip():
            raise self.failed("a value is missing")
        self.position += len(text)
        return self.known(text.strip(), quoted=False)

    def array(self, depth: int) -> list[object]:
        found: list[object] = []
        while True:
            self.blank()
            if self.take("]"):
                return found
            if self.position >= len(self.text):
                raise self.failed("a list is open")
            found.append(self.value(depth + 1))
            self.blank()
            self.take(",")

    def known(self, text: str, quoted: bool) -> Value | Unknown | None:
        for mark, unknown in self.source.unknown.items():
            if mark in text:
                return unknown
        if quoted:
            return _decoded(text)
        if text in _WORDS:
            return _WORDS[text]
        match = _NUMBER.fullmatch(text)
        if match is None or len(text) > 40:
            return text
        return float(text) if match[1] or match[2] else int(text)


def _decoded(text: str) -> str:
    if "\\" not in text:
        return text
    try:
        return str(json.loads(f'"{text}"'))
    except ValueError:
        return text
