"""The grammar and the words of the language -> what colours a job in a browser, as JSON."""

from __future__ import annotations

from ..dsl.highlighting.words import WORDS
from ..dsl.syntax import tables

#: Kinds of tokens that are written otherwise than the grammar has them, for a line that is still being typed.
_COMMENT, _TEXT = "#.*", r'"(?:\\.|[^"\\])*"?'


def language() -> dict[str, object]:
    """`patterns` are regular expressions of JavaScript, tried in their order at each place; a `name` is
    coloured
    by the group of `words` that it is in."""
    terminals = {each.name: each.pattern.to_regexp() for each in tables.parser(None).terminals}
    name = terminals["NAME"]
    number = terminals["NUMBER"].replace(r"\Z", "$")
    patterns = [
        ("comment", _COMMENT),
        ("text", _TEXT),
        ("number", number),
        ("key", rf"{name}(?=[ \t]*=(?!=))"),
        ("library", r"std\.\w+"),
        ("name", name),
    ]
    return {"words": WORDS, "patterns": patterns}
