"""Judged jobs -> text for people, editors and CI: one function per format, listed here."""

from collections.abc import Callable, Sequence

from ..judging import Judged
from .github import github
from .json import as_json
from .junit import junit
from .sarif import sarif
from .text import concise, text

Format = Callable[[Sequence[Judged]], str]

FORMATS: dict[str, Format] = {
    "text": text,
    "concise": concise,
    "json": as_json,
    "github": github,
    "sarif": sarif,
    "junit": junit,
}
