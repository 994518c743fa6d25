"""A job -> candidate values of its variables, as far as they do not depend on the framework."""

from collections.abc import Mapping, Sequence
from functools import lru_cache

from ...dsl.arrays import np
from ...dsl.job import Job
from ..algebra import Integers
from ..target import divisors

MICRO_BATCHES = (1, 2, 4, 8, 16, 32)
#: With fewer tokens per rank, exchanging keys and values takes longer than the attention that is divided.
LEAST_CONTEXT_TOKENS = 1024
MOST_CONTEXT_RANKS = 128


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
    """Micro-batch sizes that divide the global batch."""
    return tuple(size for size in MICRO_BATCHES if job.train.global_batch % size == 0)


def replica_degrees(job: Job) -> tuple[int, ...]:
    """Data-parallel degrees that divide the global batch."""
    return tuple(way for way in gpu_divisors(job) if job.train.global_batch % way == 0)


def context_degrees(job: Job) -> tuple[int, ...]:
    """Context-parallel degrees; each rank takes an early and a late part, which balances causal attention."""
    tokens = job.train.seq_len
    most = min(MOST_CONTEXT_RANKS, tokens // LEAST_CONTEXT_TOKENS)
    return tuple(
        way for way in gpu_divisors(job) if way == 1 or (way <= most and tokens % (2 * way) == 0)
    )


def pipeline_degrees(job: Job) -> tuple[int, ...]:
    """Pipeline degrees; the first stage may hold the embedding alone, and the last the head."""
    return tuple(way for way in gpu_divisors(job) if way <= job.model.layers + 2)


def all_values(job: Job, candidates: Mapping[str, Sequence[int]]) -> dict[str, Sequence[int]]:
    """The candidates, and values seldom worth a look: degrees across nodes, short parts of sequences, uneven
    micro-batches. A variable that the target does not decide, or fixes, stays as it is.
    """
    every: dict[str, Sequence[int]] = {
        "tp": gpu_divisors(job),
        "cp": gpu_divisors(job),
        "micro_batch": divisors(job.train.global_batch),
    }
    return {name: every.get(name, values) for name, values in candidates.items()}


def virtual_stages(job: Job, pp: Sequence[int], choices: Sequence[int]) -> tuple[int, ...]:
    """Those of `choices` of virtual stages per rank that the layers fill at the smallest `pp` above 1."""
    fewest = next((degree for degree in pp if degree > 1), None)
    return tuple(
        choice
        for choice in choices
        if choice == 1 or (fewest is not None and choice * fewest <= job.model.layers + 2)
    )
