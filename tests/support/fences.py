"""The fenced blocks of a Markdown text."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Fence:
    """A fenced block: its language, its text, and where the text stands in the document."""

    language: str
    text: str
    start: int
    end: int


def fences(text: str) -> list[Fence]:
    pattern = re.compile(r"^```(\w*)[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
    return [Fence(m[1], m[2], m.start(2), m.end(2)) for m in pattern.finditer(text)]
