"""A word of a job file -> each place in the files of a workspace that names the same definition, and the
edits that give it another name."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib import resources

from ..dsl.diagnostics import JobError, Span
from ..dsl.evaluation.scope import RESERVED
from ..dsl.syntax.sources import read
from ..dsl.syntax.tree import Import
from .document import Document
from .edits import Replacement
from .places import Place, places

#: Job files of a workspace that are looked through, and names of files and folders that are passed on the way
#: to them.
MOST_FILES, MOST_NAMES = 1_000, 20_000
#: Folders that hold no one's jobs, besides those whose names begin with a dot.
_PASSED = frozenset({"node_modules", "__pycache__", "site-packages"})


class Refused(Exception):
    """Why a word keeps its name."""


@dataclass(frozen=True)
class Definition:
    """The definition that a word names: `let` or a kind of block, its name, and the real path of the file
    with it."""

    path: str
    kind: str
    name: str


@dataclass(frozen=True)
class Use:
    """A file with the places in it that name a definition."""

    document: Document
    spans: tuple[Span, ...]


def defined(document: Document, place: Place) -> Definition | None:
    """The definition that a word names, if this file or one that it imports defines it; the standard library
    is none."""
    if place.role in ("let", "use") and place.word in document.scope.lets:
        source = document.scope.lets[place.word].span.source
        return Definition(os.path.realpath(source.name), "let", place.word)
    kind = ""
    if place.role in ("name", "base") and place.block:
        kind = place.block.kind.name
    elif place.role == "use" and place.setting:
        kind = place.setting.key.name
    found = document.scope.find(kind, place.word)
    return (
        Definition(os.path.realpath(found.block.span.source.name), kind, place.word)
        if found
        else None
    )


def uses(document: Document, place: Place, others: Iterable[Document]) -> list[Use]:
    """Where what a word names is written: in its file, in those that this one imports, and in `others`."""
    wanted = defined(document, place)
    if wanted is None:
        return []
    files = {os.path.realpath(each.path): each for each in others if wanted.name in each.text}
    files |= {os.path.realpath(each.path): each for each in imported(document)}
    files[os.path.realpath(document.path)] = document
    found = ((each, _naming(each, wanted)) for each in files.values())
    return [Use(each, spans) for each, spans in found if spans]


def _naming(document: Document, wanted: Definition) -> tuple[Span, ...]:
    words = (each for each in places(document.file) if each.word == wanted.name)
    return tuple(each.span for each in words if defined(document, each) == wanted)


def rename_edits(
    document: Document, place: Place, name: str, others: Iterable[Document]
) -> list[tuple[Document, list[Replacement]]]:
    """The edits of each file; none where the word names nothing. Raises `Refused`."""
    refuse_library(document, place)
    found = uses(document, place, others)
    if found and (not re.fullmatch(r"[A-Za-z_]\w*", name) or name in RESERVED):
        raise Refused(f"`{name}` cannot name a definition")
    for use in found:
        _refuse_taken(use.document, place, name)
        _refuse_read_only(use.document.path)
    return [
        (use.document, [Replacement(span.start, span.end, name) for span in use.spans])
        for use in found
    ]


def refuse_library(document: Document, place: Place) -> None:
    """Raises `Refused` for a word that a file of the standard library defines."""
    wanted = defined(document, place)
    library = os.path.realpath(str(resources.files("parc.dsl").joinpath("std")))
    if wanted and os.path.dirname(wanted.path) == library:
        raise Refused(
            f"the standard library defines `{wanted.name}`: `from std.{wanted.name}` changes it"
        )


def _refuse_taken(document: Document, place: Place, name: str) -> None:
    """Raises where a file that would say the new name sees another definition of it."""
    wanted = defined(document, place)
    kinds = [wanted.kind] if wanted else []
    if name in document.scope.lets or any(document.scope.find(kind, name) for kind in kinds):
        raise Refused(f"`{name}` is defined already in {os.path.basename(document.path)}")


def _refuse_read_only(path: str) -> None:
    """Raises for a file that its owner keeps from being changed; one that is not saved yet has no owner."""
    try:
        mode = os.stat(path).st_mode
    except OSError:
        return
    writable = mode & (stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH)
    if not writable or not os.access(path, os.W_OK):
        raise Refused(f"{os.path.basename(path)} is read-only, and names it too")


def imported(document: Document) -> Iterator[Document]:
    """The files that a file imports, and those that they do, each once; what cannot be read is left out."""
    waiting, seen = [document], {os.path.realpath(document.path)}
    while waiting:
        importing = waiting.pop()
        for statement in importing.file.statements:
            if not isinstance(statement, Import) or "\0" in statement.path.value:
                continue
            path = os.path.join(os.path.dirname(importing.path), statement.path.value)
            path = os.path.normpath(path)
            if os.path.realpath(path) in seen or len(seen) > MOST_FILES:
                continue
            seen.add(os.path.realpath(path))
            found = document_at(path, document.unsaved)
            if found is not None:
                waiting.append(found)
                yield found


def document_at(path: str, unsaved: Mapping[str, str]) -> Document | None:
    """A file as the editor holds it, or else as it is on the disk; None where it cannot be read."""
    if "\0" in path:
        return None
    text = unsaved.get(os.path.realpath(path))
    if text is None:
        try:
            text = read(path, path)[0].text
        except JobError:
            return None
    return Document(path, text, unsaved)


def job_files(folders: Iterable[str]) -> tuple[list[str], bool]:
    """The `.par` files below some folders, and whether these are all: large folders are not walked to the
    end."""
    found: list[str] = []
    names = 0
    for folder in folders:
        for place, inner, files in os.walk(folder):
            inner[:] = [each for each in inner if not each.startswith(".") and each not in _PASSED]
            names += len(inner) + len(files)
            found += [os.path.join(place, each) for each in files if each.endswith(".par")]
            if names > MOST_NAMES or len(found) > MOST_FILES:
                return found[:MOST_FILES], False
    return found, True
