"""Operators of `${NAME...}` applied to a text: prefixes, suffixes, replacement, case."""

from collections.abc import Callable

from . import glob_patterns


def _case(function: Callable[[str], str], all_letters: bool) -> Callable[[str, str], str]:
    def changed(text: str, pattern: str) -> str:
        return function(text) if all_letters else function(text[:1]) + text[1:]

    return changed


EDITS: dict[str, Callable[[str, str], str | None]] = {
    "%": lambda text, pattern: glob_patterns.without_suffix(text, pattern, False),
    "%%": lambda text, pattern: glob_patterns.without_suffix(text, pattern, True),
    "#": lambda text, pattern: glob_patterns.without_prefix(text, pattern, False),
    "##": lambda text, pattern: glob_patterns.without_prefix(text, pattern, True),
    "^": _case(str.upper, False),
    "^^": _case(str.upper, True),
    ",": _case(str.lower, False),
    ",,": _case(str.lower, True),
    "/": lambda text, pattern: _replaced(text, pattern, ""),
    "//": lambda text, pattern: _replaced(text, pattern, "/"),
    "/#": lambda text, pattern: _replaced(text, pattern, "#"),
    "/%": lambda text, pattern: _replaced(text, pattern, "%"),
}


def _replaced(text: str, pattern: str, how: str) -> str | None:
    old, _, new = pattern.partition("\0")
    return glob_patterns.replaced(text, old, new, how)
