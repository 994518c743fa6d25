"""What lint says of files that parc is about to write: settings that each are legal in `extra` may be wrong
together, or beside what the layout makes parc write."""

from __future__ import annotations

from collections.abc import Mapping

from parc.compiler.plan import Plan
from parc.dsl.diagnostics import Diagnostic, Note

from . import codes


def refused(plan: Plan, files: Mapping[str, str]) -> list[Diagnostic]:
    """The errors in a target's files, each as a complaint about its `extra`; none for a job without one."""
    if not getattr(plan.options, "extra", None):
        return []
    from parc.lint.judging import LintOptions
    from parc.lint.run import lint_texts

    judged = lint_texts(files, LintOptions(), {})
    found = (finding.diagnostic for each in judged for finding in each.findings)
    return [_complaint(plan, each) for each in found if each.severity == "error"]


def _complaint(plan: Plan, found: Diagnostic) -> Diagnostic:
    place = f" at {found.span.source.name}:{found.span.line}" if found.span else ""
    return Diagnostic(
        codes.OWN_FILES,
        f"with this `extra` {plan.target} would not start: {found.message}",
        plan.job.span("target", plan.target, "extra"),
        notes=(Note(f"{found.code}{place} of what would be written"),),
        help=found.help,
    )
