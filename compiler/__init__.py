"""A job and a target -> `Plan`, the best layout with its proof, or the `Estimate` of one given layout."""

from collections.abc import Mapping

from ..dsl.job import Job
from .plan import Estimate, Layout, Plan, Proof
from .target import Predicate, Target

__all__ = ["Estimate", "Layout", "Plan", "Predicate", "Proof", "Target", "estimate", "plan"]


def plan(job: Job, target: Target) -> Plan:
    """The best layout of a job on a target: `search/planning.py`, which is loaded when it is asked."""
    from .search.planning import plan

    return plan(job, target)


def estimate(job: Job, target: Target, layout: Mapping[str, int]) -> Estimate:
    """The price of one layout given by its variables: `search/planning.py`, loaded when it is asked."""
    from .search.planning import estimate

    return estimate(job, target, layout)
