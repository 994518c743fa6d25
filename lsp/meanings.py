"""A place in a job file -> what it means, as Markdown, and where it is defined."""

from __future__ import annotations

import os
from importlib import resources

from ..compiler.variables import DECISIONS, DERIVATIONS
from ..dsl.diagnostics import Source, Span
from ..dsl.evaluation.evaluate import Constant, plain
from ..dsl.expression import MEANINGS, QUANTITIES, VALUES
from ..dsl.library import STD, StdEntry, std_entries
from ..dsl.schema import SettingType
from ..dsl.units import Measure, dimension, in_words
from .document import Document, settings_of
from .places import Place

_DECISIONS = {each.name: each.doc for each in (*DECISIONS, *DERIVATIONS)}


def meaning(document: Document, place: Place) -> str | None:
    """The text that an editor shows for a word; None where there is nothing to say."""
    if place.role == "key" and place.block:
        return _setting(place)
    if entry := std_entry(document, place):
        return _entry(entry)
    if place.role == "use" and place.block and place.block.kind.name == "goal":
        return _of_goal(place.word) or _constant(document, place.word)
    if place.role in ("use", "let"):
        return _constant(document, place.word) or _definition_text(document, place)
    return _definition_text(document, place) if place.role == "base" else None


def definition(document: Document, place: Place) -> Span | None:
    """Where a word is defined: a place in this file, in an import, or in the standard library."""
    if place.role == "import":
        path = os.path.join(os.path.dirname(document.path), place.word)
        return Span(Source(os.path.normpath(path), ""), 0, 0)
    if entry := std_entry(document, place):
        source = Source(std_path(entry), entry.source.text)
        return Span(source, entry.start, entry.start + len(f"{entry.kind} {entry.name}"))
    if let := document.scope.lets.get(place.word):
        return let.name.span
    found = document.scope.find(_kind(place), place.word)
    return found.block.head if found else None


def std_path(entry: StdEntry) -> str:
    """The file of an entry of the standard library, as it is installed."""
    return str(resources.files("parc.dsl").joinpath("std", entry.file))


def std_entry(document: Document, place: Place) -> StdEntry | None:
    """The entry of the standard library that a word names as a base or as a GPU, with `std.` or without."""
    kind, name = _kind(place), place.word.removeprefix("std.")
    own = name == place.word and document.scope.find(kind, name)
    found = None if own or place.role not in ("base", "use") else STD.find(kind, name)
    if found is None or found.block.name is None:
        return None
    named = (kind, found.block.name.name)
    return next(each for each in std_entries() if (each.kind, each.name) == named)


def _kind(place: Place) -> str:
    """The kind of block that a word refers to."""
    if place.role in ("base", "name") and place.block:
        return place.block.kind.name
    return place.setting.key.name if place.setting else ""


def _setting(place: Place) -> str | None:
    assert place.block
    name = place.block.name.name if place.block.name else None
    field = settings_of(place.block.kind.name, name).get(place.word)
    return setting_text(field) if field else None


def setting_text(field: SettingType) -> str:
    """The meaning of a setting, what it takes and its default, as Markdown."""
    takes = ", ".join(f"`{word}`" for word in field.words) or _takes(field)
    default = "required" if field.required else f"default `{_default(field.default)}`"
    open_ = ", or a set of them to choose from" if field.open else ""
    return f"**{field.key}**: {field.doc or 'no description'}\n\n{takes}{open_}; {default}"


def _takes(field: SettingType) -> str:
    if field.kind in ("whole", "number"):
        return (
            "a whole number"
            if field.dimension.bare and field.kind == "whole"
            else in_words(field.dimension)
        )
    return {"truth": "`true` or `false`", "gpu": "the name of a gpu"}.get(field.kind, field.kind)


def _default(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return plain(value) if isinstance(value, int | float) else str(value).lower()


def _entry(entry: StdEntry) -> str:
    text = entry.source.text[entry.start : entry.end]
    return f"{entry.doc}\n\n```par\n{text[: text.rindex('}') + 1]}\n```"


def _of_goal(word: str) -> str | None:
    if word in QUANTITIES:
        return f"**{word}**, {in_words(dimension(QUANTITIES[word]))}: {MEANINGS[word]}"
    if word in _DECISIONS:
        words = ", ".join(f"`{value}`" for value in VALUES.get(word, ()))
        return f"**{word}**: {_DECISIONS[word]}" + (f"\n\n{words}" if words else "")
    return None


def _constant(document: Document, word: str) -> str | None:
    let = document.scope.lets.get(word)
    if let is None:
        return None
    value = document.scope.values.get(word)
    result = f"\n\n= {shown(value)}" if value is not None else ""
    return f"```par\n{let.span.text}\n```{result}"


def shown(value: Constant) -> str:
    """A constant in words of the language."""
    if isinstance(value, Measure):
        unit = "" if value.dimension.bare else f" {value.dimension}"
        return f"{plain(value.value)}{unit}"
    return str(value).lower() if isinstance(value, bool) else str(value)


def _definition_text(document: Document, place: Place) -> str | None:
    found = document.scope.find(_kind(place), place.word)
    return f"```par\n{found.block.span.text}\n```" if found else None
