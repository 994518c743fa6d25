"""Layouts in words, of which each part stands once: what a pointer's tip says of many layouts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from parc.compiler.plan import Layout
from parc.printing.words.layouts import layout_parts


def layout_words(layouts: Iterable[Mapping[str, int]]) -> tuple[list[str], list[list[int]]]:
    """The words, and of each layout the places of its own among them."""
    places: dict[str, int] = {}
    lines = [
        [places.setdefault(part, len(places)) for part in layout_parts(layout_of(each))]
        for each in layouts
    ]
    return list(places), lines


def layout_of(row: Mapping[str, int]) -> Layout:
    """The layout of a row of a sweep, which has columns besides the layout's."""
    return Layout(**{name: row[name] for name in Layout.model_fields})
