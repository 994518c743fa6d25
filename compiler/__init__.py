"""A job and a target -> `Plan`, the best layout with its proof, or the `Estimate` of one given layout."""

from collections.abc import Iterable, Mapping

from ..dsl.diagnostics import JobError
from ..dsl.job import Job
from .plan import Estimate, FewerNodes, Layout, Plan, Proof, WorthwhileSetting
from .search.progress import Progress
from .target import Predicate, Target

__all__ = [
    "Estimate",
    "Layout",
    "Plan",
    "Predicate",
    "Progress",
    "Proof",
    "Target",
    "estimate",
    "fewer_nodes",
    "plan",
    "plan_all",
    "worthwhile_settings",
]


def plan(job: Job, target: Target) -> Plan:
    """The best layout of a job on a target: `search/planning.py`, which is loaded when it is asked."""
    from .search.planning import plan

    return plan(job, target)


def plan_all(
    job: Job, targets: Iterable[Target], progress: Progress | None = None
) -> list[Plan | JobError]:
    """The plan of each target, or why it has none: `search/planning.py`, loaded when it is asked. `progress`
    holds what is known meanwhile."""
    from .search.planning import plan_all

    return plan_all(job, targets, progress)


def estimate(job: Job, target: Target, layout: Mapping[str, int | str]) -> Estimate:
    """The price of one layout given by its variables: `search/estimating.py`, loaded when it is asked."""
    from .search.estimating import estimate

    return estimate(job, target, layout)


def fewer_nodes(plan: Plan, target: Target) -> FewerNodes | None:
    """Fewer nodes that are predicted to be about as fast as a plan: `search/fewer_nodes.py`, loaded when it
    is asked."""
    from .search.fewer_nodes import fewer_nodes

    return fewer_nodes(plan, target)


def worthwhile_settings(plan: Plan, target: Target) -> tuple[WorthwhileSetting, ...]:
    """The settings that would make a plan's layout much faster: `search/worthwhile_settings.py`, loaded when
    it is asked."""
    from .search.worthwhile_settings import worthwhile_settings

    return worthwhile_settings(plan, target)
