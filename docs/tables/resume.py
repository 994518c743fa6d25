"""The tables of docs/resume.md: what each change of a layout does to a framework's checkpoints."""

from __future__ import annotations

from docs.tables import markdown
from parc.backends import BACKENDS
from parc.backends.resume import WORDS, Row


def tables() -> dict[str, str]:
    """A table a framework, by its name: a row for each row that says something."""
    head = ("change", "where", "what happens", "what helps", "source")
    return {
        f"resume-{name}": markdown(
            head, [_line(row) for row in backend.resume.rows if row.stops or row.note]
        )
        for name, backend in BACKENDS.items()
    }


def _line(row: Row) -> tuple[str, ...]:
    lost = f"; loses {', '.join(WORDS[part] for part in row.lost)}" if row.lost else ""
    happens = f"stops: {row.stops}" if row.stops else f"resumes{lost}: {row.note}"
    helps = "; ".join(f"`{cure.text}`" for cure in row.cures)
    return ", ".join(row.changes), row.where, happens, helps, f"`{row.source}`"
