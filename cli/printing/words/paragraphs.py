"""Text as wide as the terminal: from 80 columns to 120, wrapped between words and between layouts' parts."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterable, Sequence

#: Columns of the narrowest and of the widest text.
NARROW, WIDE = 80, 120
BETWEEN = " · "
#: What stands before a line that goes on below a label of ten columns.
BELOW = " " * 10
#: A blank at which no line ends, and the blanks that are such ones.
_KEPT = "\u00a0"
#: A line of Markdown that may be joined with the next one: none of a heading, a list, a table or code.
_PARAGRAPH = re.compile(r"(?!#|\||```|[-*] |\d+\. |\s).")
_WHOLE = re.compile(r"(?<=[\d.]) (?=\S)|(?<=[a-z(<>±×]) (?=[\d(])| (?=[·×→])|(?<=[×→]) ")


def columns() -> int:
    """Columns that text may take: those of the terminal, NARROW where there is none, within the limits."""
    return max(NARROW, min(shutil.get_terminal_size((NARROW, 24)).columns, WIDE))


def filled(head: str, pieces: Iterable[str], between: str = " ") -> list[str]:
    """Lines of whole pieces behind a head, `between` from each to the next; what does not fit goes on below
    the first piece."""
    width, indent = columns(), " " * len(head)
    lines, line, empty = [], head, True
    listed = list(pieces)
    for left, piece in zip(range(len(listed) - 1, -1, -1), listed, strict=True):
        joined = line + ("" if empty else between) + piece
        if len(joined + (between.rstrip() if left else "")) > width and not empty:
            lines.append((line + between).rstrip())
            joined = indent + piece
        line, empty = joined, False
    return [*lines, line.rstrip()]


def parts(head: str, pieces: Sequence[str]) -> list[str]:
    """Parts of a layout or a sum, with dots between them."""
    return filled(head, pieces, BETWEEN)


def words(head: str, text: str) -> list[str]:
    """A sentence. A number stays with the words beside it, a dot with the part before it."""
    glued = _WHOLE.sub(_KEPT, text)
    return [line.replace(_KEPT, " ") for line in filled(head, glued.split(" "))]


def reflowed(page: str) -> list[str]:
    """A page of Markdown whose paragraphs fill the columns; headings, lists, tables and code stay."""
    lines: list[str] = []
    paragraph: list[str] = []
    code = False
    for line in [*page.split("\n"), ""]:
        plain = not code and _PARAGRAPH.match(line) is not None
        if paragraph and not plain:
            lines += filled("", " ".join(paragraph).split(" "))
            paragraph = []
        code ^= line.startswith("```")
        if plain:
            paragraph.append(line.strip())
        else:
            lines.append(line)
    return lines[:-1]
