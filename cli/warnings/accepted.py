"""Warnings -> those that no `# parc: ignore[PAR063] reason` of the job covers, and those of such comments."""

from collections.abc import Sequence

from parc.dsl.diagnostics import Diagnostic, Source, Span
from parc.lint.accepted.ignore_comments import Ignore, Ignores
from parc.lint.finding import Finding
from parc.lint.rules import UNUSED_IGNORE


def accepted(found: Sequence[Diagnostic], source: Source) -> list[Diagnostic]:
    """A comment covers its line; on a line of its own the next one, above the first statement the file."""
    ignores = Ignores({source.name: source.text})
    kept = [each for each in found if not ignores.hide(Finding("", each, source.name))]
    return [*kept, *(_unused(ignore, source) for ignore in ignores.unused())]


def _unused(ignore: Ignore, source: Source) -> Diagnostic:
    complaint = ignore.complaint()
    lines = source.text.split("\n")
    start = sum(len(line) + 1 for line in lines[: ignore.line - 1]) + ignore.column - 1
    span = Span(source, start, start + ignore.length)
    return Diagnostic(UNUSED_IGNORE.code, complaint.message, span, "warning", help=complaint.help)
