"""The groups of an estimate that straddle domains -> text: how many, what they take, and if they stayed."""

from __future__ import annotations

from parc.backends import TARGETS
from parc.compiler.case import Case
from parc.compiler.explain.straddling import Leaving, leaving, part, seconds_inside
from parc.compiler.plan import Estimate
from parc.dsl.hardware import Cluster
from parc.dsl.job import Job

from .words.numbers import seconds
from .words.paragraphs import words


def straddling_lines(job: Job, target: str, estimate: Estimate) -> list[str]:
    """Nothing where each group stays in its domain, or fills several."""
    found = leaving(job.cluster, estimate.layout).values()
    uneven = [each for each in found if each.uneven]
    if not uneven:
        return []
    case = Case(job, TARGETS[target].target)
    return words("  links   ", "; ".join(_said(case, estimate, each) for each in uneven))


def _said(case: Case, estimate: Estimate, groups: Leaving) -> str:
    leaving, total, _ = groups.groups
    text = (
        f"{leaving:,} of {total:,} {groups.kind} groups straddle {groups.domains} "
        f"{places(case.cluster)}: {seconds(part(estimate, groups.kind))} of a step"
    )
    inside = seconds_inside(case, estimate, groups)
    return text if inside is None else f"{text}, {seconds(inside)} if all stayed inside"


def places(cluster: Cluster) -> str:
    """The name of the fast domains of a cluster are."""
    return "nodes" if cluster.domain == cluster.gpus_per_node else "NVLink domains"
