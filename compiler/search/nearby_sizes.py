"""A job without layouts -> the nearest sizes that have some: more nodes, another global batch."""

from __future__ import annotations

from math import ceil

from ...dsl.job import Job
from ..case import Case
from ..rules.candidate_degrees import divisors_of_gpus
from .best_first import empty, exists
from .bounds import TooManyBlocks
from .questions import any_of
from .space import Space

#: How often the nodes of a job are doubled.
DOUBLINGS = 6
#: Largest share of the global batch by which another one differs.
NEAR = 0.1


def more_nodes(case: Case, ratio: float) -> int | None:
    """The fewest nodes on which a layout fits and meets the goal: of `ratio` times the job's own, what memory
    that is divided over all GPUs would need, and of its doublings; None where none of these does.
    """
    most = max(case.cluster.nodes)
    counts = {ceil(most * max(ratio, 1)), *(most << step for step in range(1, DOUBLINGS + 1))}
    return next((nodes for nodes in sorted(counts - {most}) if _holds(case, nodes)), None)


def _holds(case: Case, nodes: int) -> bool:
    cluster = case.cluster.model_copy(update={"nodes": (nodes,)})
    larger = Case(case.job.model_copy(update={"cluster": cluster}), case.target)
    try:
        return exists(Space(larger), any_of(larger.hard, memory=True))
    except TooManyBlocks:
        return False


def nearest_batch(case: Case) -> int | None:
    """A global batch within `NEAR` of the job's for which the rules leave a layout: the closest multiple of
    the largest divisor of its GPUs that has one, so that most degrees divide it; None where none has.
    """
    batch = case.job.train.global_batch
    for size in _divisors(case.job):
        other = max(1, round(batch / size)) * size
        if other != batch and abs(other - batch) <= NEAR * batch:
            train = case.job.train.model_copy(update={"global_batch": other})
            if not empty(Space(Case(case.job.model_copy(update={"train": train}), case.target))):
                return other
    return None


def _divisors(job: Job) -> list[int]:
    """What divides the GPUs that the job may use, the largest first."""
    size = job.cluster.gpus_per_node
    found = {each for nodes in job.cluster.nodes for each in divisors_of_gpus(nodes, size).tolist()}
    return sorted(found, reverse=True)
