"""A job's text -> its lines as coloured pieces, those marked that hold a condition which binds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from parc.compiler.plan import Plan
from parc.dsl.diagnostics import Span
from parc.dsl.job import Constraint, Job

#: Blocks whose text is the job's own file where they stand in it.
BLOCKS = (("train",), ("model",), ("cluster",), ("goal",))
#: Class of the style sheet by Pygments' token, the narrowest first.
CLASSES = (
    ("Token.Comment", "comment"),
    ("Token.Keyword", "keyword"),
    ("Token.Literal.String", "string"),
    ("Token.Literal.Number", "value"),
    ("Token.Name.Builtin", "value"),
)


@dataclass(frozen=True)
class Line:
    """A line: its number, its pieces with their class, and what binds there, by target."""

    number: int
    pieces: tuple[tuple[str, str], ...]
    binds: tuple[str, ...]


def job_lines(job: Job, plans: Sequence[Plan]) -> list[Line]:
    """The lines of the job's own file; empty where its text is not at hand."""
    text = _text(job)
    marks: dict[int, list[str]] = {}
    for plan in plans:
        for constraint in job.goal.constraints:
            for said in plan.binding:
                if _is_of(constraint, said) and constraint.span.source.name == job.path:
                    marks.setdefault(constraint.span.line, []).append(
                        f"{plan.target}: {said.rpartition(': ')[2]}"
                    )
    return [
        Line(number, tuple(pieces), tuple(marks.get(number, ())))
        for number, pieces in enumerate(_coloured(text), start=1)
    ]


def _is_of(constraint: Constraint, said: str) -> bool:
    """Whether a line of `plan.binding` names a condition (compiler/search/explain.py:binding)."""
    return said.startswith(f"`{constraint.kind} {constraint.text}` (")


def _text(job: Job) -> str:
    spans: list[Span | None] = [job.span(*path) for path in BLOCKS]
    spans += [each.span for each in job.goal.constraints]
    spans += [each.span for each in job.goal.objectives]
    for span in spans:
        if span is not None and span.source.name == job.path:
            return span.source.text
    try:
        return Path(job.path).read_text(encoding="utf-8", errors="replace")
    except (OSError, ValueError):
        return ""


def _coloured(text: str) -> list[list[tuple[str, str]]]:
    """The pieces of each line: class, which may be empty, and text."""
    from parc.dsl.highlighting.pygments_lexer import ParcLexer

    lines: list[list[tuple[str, str]]] = [[]]
    for _, token, value in ParcLexer().get_tokens_unprocessed(text):
        kind = next((name for prefix, name in CLASSES if str(token).startswith(prefix)), "")
        first, *others = value.split("\n")
        lines[-1].append((kind, first))
        lines += [[(kind, other)] for other in others]
    found = [[piece for piece in line if piece[1]] for line in lines]
    return found[:-1] if found and not found[-1] else found
