"""Layouts that no framework could run: what divides a model has to divide it."""

from ...compiler.algebra import Column
from ...compiler.rules.divisibility import (
    expert_width_over_etp,
    experts_over_ep,
    heads_over_tp,
    widths_over_tp,
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


def interleaving_fed(job: Job, pp: Column, vpp: Column, microbatches: Column) -> Column:
    """Rounds of one micro-batch per rank are full, in the smallest batch of a ramp too."""
    least = microbatches // len(job.train.ramp)
    return (vpp == 1) | ((pp > 1) & (least >= pp) & (least % pp == 0))


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
    Predicate(
        "PAR118",
        "etp-one-or-tp",
        "etp is neither 1 nor tp, or not the one of them that the target takes",
        ("tp", "etp"),
        lambda job, tp, etp: (etp == 1) | (etp == tp),
        lambda job, tp, etp: f"etp {etp} is neither 1 nor tp {tp}",
        "parc: an expert is whole on its GPU or divided like the dense layers",
    ),
    Predicate(
        "PAR102",
        "expert-world",
        "the experts' degrees do not divide the GPUs of a stage",
        ("pp", "ep", "etp", "gpus"),
        lambda job, pp, ep, etp, gpus: (not job.model.moe) | (gpus % (etp * ep * pp) == 0),
        lambda job, pp, ep, etp, gpus: (
            f"etp {etp} * ep {ep} * pp {pp} = {etp * ep * pp} does not divide {gpus} GPUs"
        ),
        f"{ANY} every group of experts' ranks is whole",
    ),
)

SCHEDULE = (
    Predicate(
        "PAR203",
        "vpp-microbatches",
        "interleaving has too few or uneven micro-batches",
        ("pp", "vpp", "microbatches"),
        interleaving_fed,
        lambda job, pp, vpp, microbatches: (
            f"interleaving (vpp {vpp}) needs micro-batches in multiples of pp {pp}, "
            f"not {microbatches // len(job.train.ramp)}"
        ),
        "arXiv 2104.04473, section 2.2: rounds of as many micro-batches as ranks",
    ),
    Predicate(
        "PAR208",
        "ramp-batch",
        "the first batch of a ramp does not divide over micro-batches and replicas",
        ("microbatches",),
        lambda job, microbatches: microbatches % len(job.train.ramp) == 0,
        lambda job, microbatches: (
            f"ramp_from {job.train.ramp_from} does not divide over micro-batches and replicas: the "
            f"{microbatches} micro-batches of the full batch are not a multiple of {len(job.train.ramp)}"
        ),
        f"{ANY} each batch is whole micro-batches on every replica",
    ),
)

SHARDING = (
    Predicate(
        "PAR306",
        "zero-shard",
        "dp_shard above 1 with zero 0",
        ("zero", "dp_shard"),
        lambda job, zero, dp_shard: (zero > 0) | (dp_shard == 1),
        lambda job, zero, dp_shard: f"zero 0 divides nothing, so dp_shard must be 1, not {dp_shard}",
        "parc: plain data parallelism is written as dp_replicate",
        stricter="one way to write plain data parallelism",
        effect=Effect.ACCEPTS,
    ),
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
