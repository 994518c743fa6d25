"""The text of a job file -> its canonical form, which says the same and is the form of itself."""

from __future__ import annotations

from .. import codes
from ..diagnostics import JobError, Source
from ..report import wrong
from ..syntax.parser import parse, with_tokens
from .columns import text_of
from .layout import lines
from .pieces import pieces
from .unchanged import comments, same


def formatted(source: Source) -> str:
    """The canonical text, its lines ended as the first one was; raises `JobError` for wrong syntax."""
    before, complaints, tree = with_tokens(source)
    if complaints:
        raise JobError(complaints)
    if tree is None:
        return ""
    text = text_of(lines(pieces(tree, source.text)))
    after, broken = parse(Source(source.name, text))
    if broken or not same(before, after) or comments(source.text) != comments(text):
        message = f"formatting would change what `{source.name}` says"
        raise wrong(
            codes.FORMATTING_CHANGES, message, help="this is a fault of parc: please report it"
        )
    return text.replace("\n", "\r\n") if _ends_lines_with_cr(source.text) else text


def _ends_lines_with_cr(text: str) -> bool:
    return text.partition("\n")[0].endswith("\r")
