"""Findings of lint on files that parc is about to write: parc itself may err."""

from __future__ import annotations

from collections.abc import Mapping

from parc.dsl.diagnostics import Diagnostic, Note

from . import codes


def doubtful(files: Mapping[str, str]) -> list[Diagnostic]:
    """Findings of lint against the files of a job, hints aside, each as a warning: nobody asked for it."""
    cure = "where the job does not ask for it, it is a fault of parc: report it with the job"
    return [
        Diagnostic(
            codes.OWN_FILES,
            f"lint {_VERBS[each.severity]} what is written: {each.message}",
            notes=_notes(each),
            help=cure,
            severity="warning",
        )
        for each in _said(files)
        if each.severity in _VERBS
    ]


_VERBS = {"error": "refuses", "warning": "warns of"}


def _said(files: Mapping[str, str]) -> list[Diagnostic]:
    from parc.lint.judging import LintOptions
    from parc.lint.run import lint_texts

    judged = lint_texts(files, LintOptions(), {})
    return [finding.diagnostic for each in judged for finding in each.findings]


def _notes(found: Diagnostic) -> tuple[Note, ...]:
    place = f" at {found.span.source.name}:{found.span.line}" if found.span else ""
    return (Note(f"{found.code}{place} of what would be written"),)
