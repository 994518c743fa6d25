"""A job, a target and a layout -> the rules that the layout breaks; with the rules of every framework."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from ...dsl.arrays import at_least, np
from ...dsl.diagnostics import Diagnostic, Note
from ...dsl.expression import VALUES
from ...dsl.job import Job
from ..algebra import Column
from ..codes import UNDECIDED
from ..pipeline.even_split import fills_stages
from ..plan import SCHEDULES, Layout
from ..target import Columns, Predicate, Target, holds
from ..variables import NEUTRAL


def _world(job: Job, gpus: Column, tp: Column, pp: Column, cp: Column) -> Column:
    return gpus % (tp * pp * cp) == 0


def _replicas(job: Job, dp: Column, dp_shard: Column) -> Column:
    return (dp >= 1) & (dp % dp_shard == 0)


def _batch(job: Job, micro_batch: Column, dp: Column) -> Column:
    step: Column = at_least(micro_batch * dp, 1)
    divides = (job.train.global_batch % step == 0) & (step <= job.train.global_batch)
    return (dp >= 1) & divides


def _sequence(job: Job, cp: Column) -> Column:
    return job.train.seq_len % cp == 0


def _placement(job: Job, pp: Column, vpp: Column) -> Column:
    return fills_stages(job.model, pp, vpp)


WORLD = Predicate(
    "PAR101", "world-size", "tp * pp * cp does not divide the GPUs",
    ("gpus", "tp", "pp", "cp"), _world,
    lambda job, gpus, tp, pp, cp: (
        f"tp {tp} * pp {pp} * cp {cp} = {tp * pp * cp} does not divide {gpus} GPUs"
    ),
    "every rank belongs to one tensor, pipeline and context group: "
    "Megatron-LM arguments.py, torchtitan parallel_dims.py",
)  # fmt: skip
REPLICAS = Predicate(
    "PAR105", "replica-shards", "dp_shard does not divide dp",
    ("dp", "dp_shard"), _replicas,
    lambda job, dp, dp_shard: f"dp_shard {dp_shard} does not divide dp {dp}",
    "dp = dp_replicate * dp_shard: torchtitan distributed/parallel_dims.py",
)  # fmt: skip
BATCH = Predicate(
    "PAR201", "batch-dp", "micro_batch * dp does not divide the global batch",
    ("micro_batch", "dp"), _batch,
    lambda job, micro_batch, dp: (
        f"global batch {job.train.global_batch} is not a multiple of "
        f"micro-batch {micro_batch} * dp {dp} = {micro_batch * dp}"
    ),
    "Megatron-LM num_microbatches_calculator.py; DeepSpeed runtime/config.py; torchtitan train.py",
    easiest={"dp": 1},
)  # fmt: skip
SEQUENCE = Predicate(
    "PAR131", "seq-split", "the sequence does not divide into its parts",
    ("cp",), _sequence,
    lambda job, cp: f"seq_len {job.train.seq_len} is not a multiple of cp {cp}",
    "context parallelism cuts every sequence into equal parts",
)  # fmt: skip
PLACEMENT = Predicate(
    "PAR126", "stages-above-layers", "more virtual stages than layers, embedding and head fill",
    ("pp", "vpp"), _placement,
    lambda job, pp, vpp: (
        f"pp {pp} * vpp {vpp} = {pp * vpp} virtual stages "
        f"do not fit {job.model.layers} layers, embedding and head"
        if pp > 1
        else f"vpp {vpp} needs pp > 1"
    ),
    "each virtual stage holds a layer, the first may hold the embedding alone, the last the head alone",
)  # fmt: skip


def _implied(rule: Predicate, of: tuple[str, ...], allows: Callable[..., Column]) -> Predicate:
    """The predicate that a rule implies of fewer variables."""
    return replace(rule, of=of, holds=allows)


#: What rules imply before all of their variables are known: a search need not wait for these.
IMPLIED = {
    WORLD: (
        _implied(WORLD, ("gpus", "tp"), lambda job, gpus, tp: gpus % tp == 0),
        _implied(WORLD, ("gpus", "tp", "pp"), lambda job, gpus, tp, pp: gpus % (tp * pp) == 0),
    ),
    BATCH: (
        _implied(BATCH, ("dp",), lambda job, dp: job.train.global_batch % at_least(dp, 1) == 0),
    ),
}

GENERAL = (WORLD, REPLICAS, BATCH, SEQUENCE, PLACEMENT)


def predicates(target: Target) -> tuple[Predicate, ...]:
    """Every rule that a layout must satisfy on a target."""
    return GENERAL + target.predicates


def undecided(job: Job, target: Target, columns: Mapping[str, int]) -> list[Diagnostic]:
    """A diagnostic for each variable that a target does not decide and that is not at its neutral value, and
    for recomputation and orders that the target, or the job's model on it, does not have."""
    decided = target.domains(job)
    found = [
        Diagnostic(
            UNDECIDED,
            f"`{name}` is always {word(name, neutral)} on {target.name}, "
            f"not {word(name, columns[name])}",
        )
        for name, neutral in NEUTRAL.items()
        if name not in decided and columns.get(name, neutral) != neutral
    ]
    for name in ("recompute", "order"):
        value = columns.get(name, NEUTRAL[name])
        if name in decided and value not in (NEUTRAL[name], *decided[name]):
            message = f"`{name}` is never {word(name, value)} on {target.name} for this job"
            found.append(Diagnostic(UNDECIDED, message))
    return found


def word(name: str, value: int) -> str:
    """The value of a variable as the language writes it."""
    words = {number: word for word, number in VALUES.get(name, {}).items()}
    return words.get(value, str(value))


def variables_of(job: Job, layout: Layout) -> dict[str, int]:
    """The variables of one layout by name, derived ones included."""
    named = layout.model_dump()
    return {
        **named,
        "dp": layout.dp,
        "gpus": layout.gpus,
        "schedule": SCHEDULES.index(layout.schedule),
    }


def broken(job: Job, target: Target, columns: Columns) -> list[Predicate]:
    """The rules that one layout breaks."""
    return [rule for rule in predicates(target) if not bool(np.all(holds(rule, job, columns)))]


def complaint(job: Job, rule: Predicate, values: Mapping[str, int]) -> Diagnostic:
    """The diagnostic of a broken rule: its message for `values`, and its source as a note."""
    message = rule.message(job, **{name: int(values[name]) for name in rule.of})
    return Diagnostic(rule.code, message, notes=(Note(f"{rule.name}: {rule.source}"),))


def problems(job: Job, target: Target, layout: Layout) -> list[Diagnostic]:
    """Every reason why a target cannot run a job in a layout; empty when it can."""
    columns = variables_of(job, layout)
    rules = [complaint(job, rule, columns) for rule in broken(job, target, columns)]
    return [*target.refuses(job), *undecided(job, target, columns), *rules]
