"""Lint of files that parc is about to write: settings that each are legal in `extra` may be wrong together,
or beside what the layout makes parc write; and parc itself may err."""

from __future__ import annotations

from collections.abc import Mapping

from parc.compiler.plan import Plan
from parc.dsl.diagnostics import Diagnostic, Note

from . import codes


def refused(plan: Plan, files: Mapping[str, str]) -> list[Diagnostic]:
    """The errors in a target's files, each as a complaint about its `extra`; none for a job without one."""
    if not getattr(plan.options, "extra", None):
        return []
    span = plan.job.span("target", plan.target, "extra")
    message = f"with this `extra` {plan.target} would not start"
    return [
        Diagnostic(
            codes.OWN_FILES, f"{message}: {each.message}", span, notes=_notes(each), help=each.help
        )
        for each in _said(files)
        if each.severity == "error"
    ]


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
