"""A condition of the goal on one decision or quantity -> whether it holds in all, some or no layouts."""

from collections.abc import Iterator, Sequence
from math import isqrt

from parc.dsl.arrays import np
from parc.dsl.expression import (
    QUANTITIES,
    VALUES,
    Call,
    Const,
    Expression,
    Name,
    evaluate,
    evaluate_number,
    names,
)
from parc.dsl.job import Constraint, Job

#: Values of a decision beyond which it is not judged, and sizes of the cluster whose divisors are listed.
_MOST_VALUES, _MOST_SIZES = 10**6, 64
#: Values that are tried one by one. Most conditions are true of some and false of others among them, and the
#: many of a rare one are worth the time to load numpy.
_FEW = 1000
#: Quantities that are shares.
_SHARES = ("mfu", "hfu", "bubble", "risk")
_BOUNDS = ("<", "<=", ">", ">=")


def verdicts(job: Job) -> Iterator[tuple[Constraint, bool]]:
    """The conditions that no layout changes, with what they are: true or false."""
    for constraint in job.goal.constraints:
        found = _outcomes(constraint.expression, job)
        if len(found) == 1:
            yield constraint, found.pop()


def _outcomes(expression: Expression, job: Job) -> set[bool]:
    """The outcomes of a condition over the values of its name; both where it has several names or too many
    values."""
    undecided = {True, False}
    if len(found := names(expression)) != 1:
        return undecided
    (name,) = found
    values = _ends(expression, name, job) if name in QUANTITIES else _values(name, job)
    if values is None:
        return undecided
    found_few = {bool(evaluate_number(expression, {name: value})) for value in values[:_FEW]}
    if found_few == undecided or len(values) <= _FEW:
        return found_few
    rest = evaluate(expression, {name: np.array(values[_FEW:], dtype=np.int64)})
    return found_few | set(np.asarray(rest, dtype=bool).tolist())


def _ends(expression: Expression, name: str, job: Job) -> Sequence[float] | None:
    """The least and the largest value of a quantity, for a single bound on it, which holds between where it
    holds at both."""
    match expression:
        case Call(op, (Name(), Const()) | (Const(), Name())) if op in _BOUNDS:
            if name in _SHARES:
                return (0.0, 1.0)
            if name == "memory":
                return (0.0, float(job.cluster.gpu.memory))
    return None


def _values(name: str, job: Job) -> Sequence[float] | None:
    """Values that a decision may have on the job's cluster, and perhaps more; None for too many."""
    gpus = [nodes * job.cluster.gpus_per_node for nodes in job.cluster.nodes]
    counts = {
        "nodes": job.cluster.nodes,
        "gpus": gpus,
        "zero": range(4),
        "vpp": range(1, job.model.layers + job.model.mtp_layers + 1),
        "recompute_layers": range(job.model.layers + job.model.mtp_layers + 1),
        "micro_batch": range(1, job.train.global_batch + 1),
        "microbatches": range(1, job.train.global_batch + 1),
        **{word: sorted(numbers.values()) for word, numbers in VALUES.items()},
    }
    found = counts.get(name) or _divisors(gpus)
    return found if len(found) <= _MOST_VALUES else None


def _divisors(sizes: list[int]) -> list[int] | range:
    """The degrees that divide one of the numbers of GPUs; all up to the largest where there are many."""
    if len(sizes) > _MOST_SIZES:
        return range(1, max(sizes) + 1)
    small = {(size, d) for size in sizes for d in range(1, isqrt(size) + 1) if size % d == 0}
    return sorted({d for _, d in small} | {size // d for size, d in small})
