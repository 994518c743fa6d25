"""Generated tables: rows -> Markdown, and a document with the tables at its markers renewed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

_DOCS = Path(__file__).parents[1]
#: The pages of the cost model: the one to begin with, then its chapters.
COST_MODEL = (_DOCS / "cost-model.md", *sorted((_DOCS / "cost-model").glob("*.md")))
README = _DOCS.parent / "README.md"

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


def filled_among(pages: Iterable[Path], tables: Mapping[str, str]) -> dict[Path, str]:
    """Each page with those of these tables that it has a place for.

    Raises ValueError for a table that no page has a place for.
    """
    texts = {page: page.read_text() for page in pages}
    places = {page: shown(text).keys() & tables.keys() for page, text in texts.items()}
    if homeless := tables.keys() - set().union(*places.values()):
        raise ValueError(f"no page has a place for {sorted(homeless)}")
    return {
        page: filled(text, {name: tables[name] for name in places[page]})
        for page, text in texts.items()
    }


def renew_among(pages: Iterable[Path], tables: Mapping[str, str]) -> None:
    """Write each page again with those of these tables that it shows."""
    for page, text in filled_among(pages, tables).items():
        page.write_text(text)


def together(pages: Iterable[Path]) -> str:
    """The text of several pages as one."""
    return "\n".join(page.read_text() for page in pages)
