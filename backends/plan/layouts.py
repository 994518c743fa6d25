"""Layouts that no framework could run: what divides a model has to divide it."""

from ...compiler.algebra import Column
from ...compiler.rules.divisibility import (
    expert_width_over_etp,
    experts_over_ep,
    heads_over_tp,
    widths_over_tp,
)
from ...compiler.rules.parallel_rules import (
    ONE_REPLICATION,
    expert_grid,
    full_rounds,
    whole_experts,
    whole_ramp,
)
from ...compiler.target import Effect, Predicate
from ...dsl.arrays import choose
from ...dsl.job import Job

ANY = "any framework:"


def kv_heads_divide(job: Job, tp: Column) -> Column:
    """Ranks hold whole key-value heads, or copies of one."""
    groups = job.model.groups
    return job.model.mla | (groups % tp == 0) | (tp % groups == 0)


def sequence_parts(tp: Column, cp: Column) -> Column:
    """Equal parts of a sequence: one per tensor rank (sequence parallelism), two per context rank."""
    ring: Column = choose(cp > 1, 2 * cp, 1)
    return tp * ring


HEADS = (
    heads_over_tp(f"{ANY} a rank holds whole heads"),
    Predicate(
        "PAR112",
        "kv-heads-tp",
        "kv_heads do not divide evenly over tp",
        ("tp",),
        kv_heads_divide,
        lambda job, tp: f"kv_heads {job.model.groups} is neither a multiple nor a divisor of tp {tp}",
        f"{ANY} a rank holds whole key-value heads, or copies of one",
    ),
    widths_over_tp(f"{ANY} a rank holds as much as the others"),
    Predicate(
        "PAR131",
        "seq-split",
        "the sequence does not divide into its parts",
        ("tp", "cp"),
        lambda job, tp, cp: job.train.seq_len % sequence_parts(tp, cp) == 0,
        lambda job, tp, cp: (
            f"seq_len {job.train.seq_len} is not a multiple of {sequence_parts(tp, cp)}, which tp {tp} with "
            f"sequence parallelism and cp {cp} need"
        ),
        f"{ANY} sequence parallelism (arXiv 2205.05198) and a ring that balances the causal mask",
    ),
)

EXPERTS = (
    experts_over_ep(f"{ANY} a rank holds whole experts"),
    expert_width_over_etp(f"{ANY} a rank holds as much of an expert as the others"),
    whole_experts("other ways to divide an expert are priced by no measured run"),
    expert_grid(f"{ANY} every group of experts' ranks is whole"),
)

SCHEDULE = (
    full_rounds("arXiv 2104.04473, section 2.2: rounds of as many micro-batches as ranks"),
    whole_ramp(f"{ANY} each batch is whole micro-batches on every replica"),
)

SHARDING = (
    ONE_REPLICATION,
    Predicate(
        "PAR343",
        "zero-fsdp",
        "a zero stage that is not how FSDP2 works there",
        ("zero", "pp"),
        lambda job, zero, pp: (zero < 2) | (pp == 1),
        lambda job, zero, pp: (
            f"zero {zero} with pp {pp}: gradients of a pipeline stay whole until its last micro-batch, and "
            "weights divided beside it would be gathered for every one"
        ),
        "arXiv 2104.04473 and 1910.02054: a step of a pipeline holds what its micro-batches add to",
        stricter="it runs, and gathers and reduces all weights for every micro-batch of the pipeline",
        effect=Effect.WORSE,
    ),
)

PREDICATES: tuple[Predicate, ...] = HEADS + EXPERTS + SCHEDULE + SHARDING
