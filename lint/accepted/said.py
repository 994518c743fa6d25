"""Judged jobs -> the same with the findings that are left to say: those that nobody has accepted."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import date

from ..judging import Judged, LintOptions, findings
from .baseline import new
from .exceptions import excused


def said(judged: Sequence[Judged], options: LintOptions, today: date | None = None) -> list[Judged]:
    """Findings that no exception covers and that the baseline does not have. What is to be said of the
    exceptions stands with the first job."""
    found = findings(judged)
    paths = [path for each in judged for path in each.config.texts]
    left, told = excused(found, options.exceptions, paths, today or date.today())
    if options.baseline is not None:
        left = new(left, options.baseline)
    kept = set(left)
    result = [
        replace(each, findings=tuple(one for one in each.findings if one in kept))
        for each in judged
    ]
    if told and result:
        result[0] = replace(result[0], findings=(*result[0].findings, *told))
    return result
