"""Blocks that a program wrote -> a text in canonical form, comments in lines of the formatter's width."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable

from ..diagnostics import JobError, Source
from .canonical import formatted
from .layout import WIDTH

#: Columns by which the further lines of a comment lie deeper than its first one.
_DEEPER = 2


def draft(blocks: Iterable[str]) -> str:
    """The text as `parc fmt` leaves it, a blank line between two blocks.

    Where the language does not read the whole, each block that it reads is formatted alone and the others
    stay as they are: a draft is written all the same, and `parc check` says what is wrong with it.
    """
    written = ["\n".join(map(_wrapped, block.split("\n"))) for block in blocks]
    whole = _formatted("\n\n".join(written))
    if whole is not None:
        return whole
    alone = [_formatted(block) or f"{block}\n" for block in written]
    return "\n".join(alone)


def _formatted(text: str) -> str | None:
    """The canonical form, or None for a text that the language does not read."""
    try:
        return formatted(Source("job.par", f"{text}\n"))
    except JobError:
        return None


def _wrapped(line: str) -> str:
    """A comment on a line of its own in as many lines as it takes, words whole; others as they are."""
    text = line.removeprefix("#")
    if len(line) <= WIDTH or text == line:
        return line
    depth = len(text) - len(text.lstrip(" "))
    return textwrap.fill(
        text.strip(),
        WIDTH,
        initial_indent="#" + " " * depth,
        subsequent_indent="#" + " " * (depth + (_DEEPER if depth > 1 else 0)),
        expand_tabs=False,
        replace_whitespace=False,
        break_long_words=False,
        break_on_hyphens=False,
    )
