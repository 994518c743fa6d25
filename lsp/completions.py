"""A character of a job file, perhaps in the middle of a line -> the words that may stand there."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from ..compiler.variables import DECISIONS, DERIVATIONS
from ..dsl.evaluation.evaluate import FUNCTIONS
from ..dsl.evaluation.goal import CLAUSES
from ..dsl.evaluation.imports import BLOCKS
from ..dsl.expression import MEANINGS, VALUES
from ..dsl.library import std_entries
from .document import Document, named_kinds, open_braces, settings_of
from .meanings import setting_text

_HEAD = re.compile(r"(?<!\w)(\w+)(?:[ \t]+(?!from\b)(\w+))?(?:[ \t]+from[ \t]+[\w.]+)?[ \t]*\Z")
_BASE = re.compile(r"^[ \t]*(model|gpu|cluster)\b[^{}\n]*\bfrom[ \t]+[\w.]*\Z")
_VALUE = re.compile(r"(?:^|[{;])[ \t]*([\w-]+)[ \t]*=[ \t]*([\w.]*)\Z")
_NAME = re.compile(r"^[ \t]*(target|launch)[ \t]+\w*\Z")


@dataclass(frozen=True)
class Offer:
    """A word to put in; `note` is a line about it, `text` its meaning as Markdown."""

    word: str
    kind: Literal["block", "setting", "value", "name", "library"]
    note: str = ""
    text: str = ""


def completions(document: Document, offset: int) -> list[Offer]:
    """Everything that may stand at a character; an editor picks those that begin as the word there does."""
    before = document.text[:offset]
    line = before[before.rfind("\n") + 1 :]
    if "#" in line.rpartition('"')[2] or line.count('"') % 2:
        return []
    block = _block_around(before)
    if match := _BASE.match(line):
        return [*_library(match[1]), *_own(document, match[1])]
    if block is None and (match := _NAME.match(line)):
        return [Offer(name, "name", match[1]) for name in named_kinds(match[1])]
    if block is None:
        return [Offer(word, "block") for word in (*BLOCKS, "let", "import")]
    if match := _VALUE.search(line):
        return list(_values(document, *block, match[1]))
    if block[0] == "goal":
        return list(_goal(document, line))
    fields = settings_of(*block).values()
    return [Offer(field.key, "setting", field.doc, setting_text(field)) for field in fields]


def _block_around(before: str) -> tuple[str, str | None] | None:
    """Kind and name of the block in which a text ends."""
    opened = open_braces(before)
    head = _HEAD.search(before[: opened[0]]) if opened else None
    return (head[1], head[2]) if head else None


def _values(document: Document, kind: str, name: str | None, key: str) -> Iterator[Offer]:
    field = settings_of(kind, name).get(key)
    if field is None:
        return
    if field.kind == "gpu":
        yield from (*_library("gpu"), *_own(document, "gpu"))
    words = ("true", "false") if field.kind == "truth" else field.words
    yield from (Offer(word, "value", field.doc) for word in words)
    if field.kind not in ("truth", "word", "gpu"):
        yield from _constants(document)


def _goal(document: Document, line: str) -> Iterator[Offer]:
    if re.search(r"(?:^|[{;])[ \t]*\w*\Z", line):
        yield from (Offer(word, "setting") for word in CLAUSES)
        return
    clause = re.split(r"[;:]", line)[-1]
    for name, words in VALUES.items():
        if re.search(rf"\b{name}\b", clause):
            yield from (Offer(word, "value", name) for word in words)
    yield from (Offer(name, "name", text) for name, text in MEANINGS.items())
    yield from (Offer(each.name, "name", each.doc) for each in (*DECISIONS, *DERIVATIONS))
    yield from (Offer(name, "name", "function") for name in FUNCTIONS)
    yield from _constants(document)


def _constants(document: Document) -> Iterator[Offer]:
    for name, let in document.scope.lets.items():
        yield Offer(name, "name", " ".join(let.value.span.text.split()))


def _library(kind: str) -> Iterator[Offer]:
    for entry in std_entries():
        if entry.kind == kind:
            yield Offer(f"std.{entry.name}", "library", entry.doc)


def _own(document: Document, kind: str) -> Iterator[Offer]:
    yield from (Offer(name, "name", kind) for name in document.scope.known(kind))
