"""The text of a number -> its canonical form: suffix or `%` right after the digits, a unit after a space."""

import re

from ..units import UNITS

_DIGITS = re.compile(r"[0-9_]+(\.[0-9_]+)?([eE][+-]?[0-9]+)?")


def canonical_number(text: str) -> str:
    """`80GiB` -> `80 GiB`, `4 Mi  tokens` -> `4Mi tokens`, `92 %` -> `92%`; other units stay as they are."""
    digits = _DIGITS.match(text)
    assert digits, text
    rest = text[digits.end() :]
    words = rest.split()
    if not words:
        return digits[0]
    attached = words[0] == "%" or _is_suffix(words[0])
    if not attached and words[0] not in UNITS and words[0].split("/")[0] not in UNITS:
        attached = not rest[0].isspace()
    return digits[0] + ("" if attached else " ") + " ".join(words)


def _is_suffix(word: str) -> bool:
    return word in UNITS and UNITS[word][1].bare
