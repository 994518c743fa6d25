"""Values -> TOML: keys, names of tables, values, comments."""

from __future__ import annotations

import json
import math
import re

from .language import CLOSE, Language, Written, one_line, writable

_BARE = re.compile(r"[A-Za-z0-9_-]+")


class Toml(Written):
    """Text of TOML."""

    __slots__ = ()


def key(text: str) -> Toml:
    return Toml(text) if _BARE.fullmatch(text) else _string(text)


def table(name: str) -> Toml:
    """The name of a table, whose parts have dots between them."""
    return Toml(".".join(key(part) for part in name.split(".")))


def setting(name: str, given: object) -> Toml:
    return Toml(f"{key(name)} = {value(given)}")


def noted(text: Toml, why: str, width: int) -> Toml:
    """A line with a comment behind it, which begins after `width` characters."""
    return Toml(f"{text.ljust(width)}  # {comment(why)}")


def value(given: object) -> Toml:
    """A value; a list of lists takes a line for each inner one. Raises `TypeError` for what TOML has not."""
    match given:
        case bool():
            return Toml("true" if given else "false")
        case int():
            return Toml(str(given))
        case float():
            return Toml("inf" if math.isinf(given) else repr(given))
        case str():
            return _string(given)
        case [list(), *_]:
            return Toml("[\n" + "".join(f"    {value(part)},\n" for part in given) + "]")
        case list():
            return Toml(f"[{', '.join(map(value, given))}]")
    raise TypeError(f"TOML has no {given!r}")


def comment(text: str) -> Toml:
    return Toml(one_line(text))


def _string(text: str) -> Toml:
    """JSON's escapes are TOML's, but that TOML does not take a bare DEL."""
    return Toml(json.dumps(writable(text), ensure_ascii=False).replace("\x7f", "\\u007f"))


LANGUAGE = Language(
    name="toml",
    suffixes=(".toml.j2",),
    code=lambda text: Toml(writable(text)),
    marks=re.compile(r"""\\.|["'#\n]""", re.DOTALL),
    places={
        "code": {'"': "double", "'": "single", "#": "comment"},
        "double": {'"': CLOSE},
        "single": {"'": CLOSE},
        "comment": {"\n": CLOSE, "\\\n": CLOSE},
    },
    writers={
        "code": (Toml, value),
        "double": (None, lambda text: Toml(_string(text)[1:-1])),
        "comment": (None, comment),
    },
)
