"""A job without layouts -> the nearest sizes that have some: more nodes, another global batch."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
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
#: Largest share of the global batch by which another one differs, and how many are tried.
NEAR, TRIED = 0.1, 8


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
    """A global batch within `NEAR` of the job's for which the rules leave a layout on its most nodes: the
    closest multiple of the largest divisor of their GPUs that has one, so that most degrees divide it; None
    where none has, of the first `TRIED`."""
    job, nodes = case.job, max(case.cluster.nodes)
    cluster = job.cluster.model_copy(update={"nodes": (nodes,)})
    for batch in islice(_multiples(job, nodes), TRIED):
        train = job.train.model_copy(update={"global_batch": batch})
        other = job.model_copy(update={"train": train, "cluster": cluster})
        if not empty(Space(Case(other, case.target))):
            return batch
    return None


def _multiples(job: Job, nodes: int) -> Iterator[int]:
    """The nearest multiple of each divisor of the GPUs of so many nodes, near the job's batch, each once."""
    batch = job.train.global_batch
    sizes = divisors_of_gpus(nodes, job.cluster.gpus_per_node).tolist()
    near = dict.fromkeys(max(1, round(batch / size)) * size for size in reversed(sizes))
    return (each for each in near if each != batch and abs(each - batch) <= NEAR * batch)
