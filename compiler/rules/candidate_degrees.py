"""A job -> candidate values of its variables, as far as they do not depend on the framework."""

import math
from collections.abc import Sequence
from functools import lru_cache

from ...dsl.arrays import np
from ...dsl.job import Job
from ..algebra import Integers
from ..target import divisors


def gpu_divisors(job: Job) -> tuple[int, ...]:
    """All divisors of the numbers of GPUs that the job allows, in rising order."""
    return _divisors_of_any(job.cluster.nodes, job.cluster.gpus_per_node)


@lru_cache(maxsize=8)
def _divisors_of_any(nodes: tuple[int, ...], gpus_per_node: int) -> tuple[int, ...]:
    every = np.concatenate([divisors_of_gpus(count, gpus_per_node) for count in nodes])
    return tuple(np.unique(every).tolist())


@lru_cache(maxsize=2**13)
def divisors_of_gpus(nodes: int, gpus_per_node: int) -> Integers:
    """All divisors of the GPUs of so many nodes, in rising order."""
    ways = np.multiply.outer(divisors(nodes), divisors(gpus_per_node))
    return np.unique(np.asarray(ways, dtype=np.int64))


def micro_batches(job: Job) -> tuple[int, ...]:
    """Micro-batch sizes: divisors of the global batch."""
    return divisors(job.train.global_batch)


def replica_degrees(job: Job) -> tuple[int, ...]:
    """Data-parallel degrees that divide the global batch."""
    return tuple(way for way in gpu_divisors(job) if job.train.global_batch % way == 0)


def pipeline_degrees(job: Job) -> tuple[int, ...]:
    """Pipeline degrees; the first stage may hold the embedding alone, and the last the head."""
    return tuple(way for way in gpu_divisors(job) if way <= job.model.layers + 2)


#: A model has no more layers than this without thinning its virtual stages and recomputed layers.
EACH, OF_EIGHT = 256, 8


def counts(most: int) -> tuple[int, ...]:
    """1 to `most`; of more than EACH, which no model's layers are, all up to an eighth of EACH and beyond it
    steps of an eighth of a doubling."""
    if most <= EACH:
        return tuple(range(1, most + 1))
    small, doublings = EACH // OF_EIGHT, math.log2(most * OF_EIGHT / EACH)
    steps = np.rint(small * 2 ** (np.arange(1, OF_EIGHT * doublings) / OF_EIGHT)).astype(int)
    return tuple(sorted({*range(1, small + 1), *steps.tolist(), most}))


def virtual_stages(job: Job, pp: Sequence[int]) -> tuple[int, ...]:
    """Virtual stages per rank that the layers fill at the smallest `pp` above 1."""
    fewest = next((degree for degree in pp if degree > 1), None)
    most = (job.model.layers + 2) // fewest if fewest else 1
    return counts(max(most, 1))
