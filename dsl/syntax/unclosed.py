"""A block that is still open where the next one begins -> the complaint, and the text with its brace."""

from __future__ import annotations

import re

from .. import codes
from ..diagnostics import Diagnostic, Note, Source, Span, replaced
from .stop import BLOCK

_WORDS = re.compile(r'"(?:\\.|[^"\\\n])*"?|#[^\n]*|[()\[\]{}\n]|[^\s"#()\[\]{}]+')
_HEAD = re.compile(
    rf'([ \t]*)(?:(?:{BLOCK}|stage\b)[^={{}}\n#]*\{{|let[ \t]+\w+[ \t]*=|import[ \t]+")'
)


def unclosed_block(
    text: str, position: int, source: Source, offset: int
) -> tuple[Diagnostic, str] | None:
    """The complaint about the first `{` before `position` that is open where a line begins a block, no
    further in than its own line does; None without one. `text` begins at `offset` of the source, and the new
    text is as long.
    """
    opened: list[int] = []
    last = 0
    for word in _WORDS.finditer(text):
        if word[0] == "{":
            opened.append(word.start())
        elif word[0] == "}" and opened:
            opened.pop()
        if opened and opened[0] >= position:
            return None
        head = _HEAD.match(text, word.end()) if word[0] == "\n" and opened else None
        if head is not None and len(head[1]) <= _indent(text, opened[0]):
            return _told(text, opened[0], last, head.end(1), source, offset)
        if word[0] != "\n" and not word[0].startswith("#"):
            last = word.end()
    return None


def _indent(text: str, place: int) -> int:
    line = text[text.rfind("\n", 0, place) + 1 : place]
    return len(line) - len(line.lstrip(" \t"))


def _told(
    text: str, brace: int, last: int, head: int, source: Source, offset: int
) -> tuple[Diagnostic, str]:
    """`last` is where the words of the open block end, `head` where the next one begins."""
    start = text.rfind("\n", 0, brace) + 1
    alone = "\n" in text[brace:last]
    place = text.find("\n", last) if alone else last
    fix = replaced(Span(source, offset + place, offset + place), "\n}" if alone else " }")
    kind = re.split(r"[\s{=:]", text[head:], maxsplit=1)[0]
    note = Note("the next one begins here", Span(source, offset + head, offset + head + len(kind)))
    said = Diagnostic(
        codes.SYNTAX,
        f"`{text[start : brace + 1].strip()}` is not closed before `{kind}`",
        Span(source, offset + brace, offset + brace + 1),
        notes=(note,),
        help="close the block with `}`",
        fix=fix,
    )
    if "\n" in text[last + 1 : head]:
        return said, f"{text[:last]}}}{text[last + 1 :]}"
    blank = re.sub(r"[^\n]", " ", text[start:head])
    return said, text[:start] + blank + text[head:]
