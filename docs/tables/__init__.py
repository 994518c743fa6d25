"""Generated tables: rows -> Markdown, and a document with the tables at its markers renewed."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

#: Where a document shows the table NAME: between `<!-- table NAME -->` and `<!-- end -->`.
_PLACE = re.compile(r"(<!-- table (\S+) -->\n)(.*?)\n?(?=<!-- end -->)", re.DOTALL)


def markdown(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table in Markdown."""
    lines = [head, ["---" for _ in head], *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def shown(document: str) -> dict[str, str]:
    """The tables of a document as they stand there, by name."""
    return {place[2]: place[3] for place in _PLACE.finditer(document)}


def filled(document: str, tables: Mapping[str, str]) -> str:
    """The document with these tables at their places, and all others as they were.

    Raises ValueError for a table that the document has no place for.
    """
    if homeless := tables.keys() - shown(document).keys():
        raise ValueError(f"no `<!-- table NAME -->` and `<!-- end -->` for {sorted(homeless)}")
    return _PLACE.sub(
        lambda place: f"{place[1]}{tables[place[2]]}\n" if place[2] in tables else place[0],
        document,
    )


def renew(path: Path, tables: Mapping[str, str]) -> None:
    """Write the document at `path` again with these tables."""
    path.write_text(filled(path.read_text(), tables))
