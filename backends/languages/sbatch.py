"""Options of sbatch -> the text of their directives. `reading/sbatch_options.py` reads it back."""

from __future__ import annotations

import re

from .language import Written, plain_text


class Sbatch(Written):
    """Text of a directive, behind `#SBATCH --`."""

    __slots__ = ()


def directive(name: str, value_of: object) -> Sbatch:
    """`name=value`; an option that is `True` stands without a value."""
    return Sbatch(name if value_of is True else f"{name}={value(value_of)}")


def holds(text: str) -> bool:
    """Whether a directive can have this text for its value."""
    return bool(text) and text.isprintable()


def value(given: object) -> Sbatch:
    """A value that sbatch reads as this text or number.

    Raises `ValueError` for one that is empty or has characters that are not printable.
    """
    text = plain_text(given)
    if not holds(text):
        raise ValueError(f"no directive of sbatch says {text!r}")
    escaped = re.sub(r"""([\\"'])""", r"\\\1", text)
    return Sbatch(f'"{escaped}"' if re.search(r"[\s#]", text) else escaped)
