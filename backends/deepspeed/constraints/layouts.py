"""Combinations that DeepSpeed 0.19.8 refuses or ignores: one predicate per rule, with file and line."""

from __future__ import annotations

from ....compiler.algebra import Column
from ....compiler.plan import OFFLOAD
from ....compiler.rules.divisibility import heads_over_tp, widths_over_tp
from ....compiler.target import Effect, Predicate
from ....dsl.arrays import at_least, choose
from ....dsl.job import Job
from ...constraints import Broken
from ...written_options import file_keys
from .. import releases
from ..options import options_of, sums_in_fp32, written_options
from .keys import OF_STAGE, STAGE

#: The least ZeRO stage for each kind of offload.
OFFLOAD_STAGE = (0, 1, 3)


def pipeline_stage(job: Job, pp: Column, zero: Column) -> Column:
    return (pp == 1) | (zero <= 1)


def offload_stage(job: Job, zero: Column, offload: Column) -> Column:
    least: Column = choose(offload < 1, OFFLOAD_STAGE[0], choose(offload < 2, *OFFLOAD_STAGE[1:]))
    return zero >= least


def shard_group(job: Job, zero: Column, dp_replicate: Column, dp_shard: Column) -> Column:
    parts: Column = choose(zero == 0, dp_shard, dp_replicate)
    return parts == 1


def secondary_partition(
    job: Job, zero: Column, hpz: Column, gpus: Column, offload: Column
) -> Column:
    group: Column = at_least(hpz, 1)
    useful = (zero == 3) & (gpus > hpz) & (gpus % group == 0) & (offload < 2)
    return (hpz == 1) | useful


def ulysses_heads(job: Job, cp: Column) -> Column:
    """Key-value heads are divided over the ranks, or copied when there are more ranks."""
    key_value = (job.model.groups % cp == 0) | (cp % job.model.groups == 0)
    return (job.model.heads % cp == 0) & key_value


def broken_by_extra(job: Job, stage: int) -> Broken | None:
    """The row that a key of `extra` breaks at a stage of ZeRO."""
    keys = file_keys({**options_of(job).extra, STAGE: stage})
    return next(written_options(job).broken(OF_STAGE, keys), None)


def stage_of_extra(job: Job, zero: Column) -> Column:
    fits: Column = True
    for stage in range(4):
        if broken_by_extra(job, stage):
            fits = choose(zero == stage, False, fits)
    return fits


def stage_of_extra_needs(job: Job, zero: int) -> str:
    fault = broken_by_extra(job, zero)
    return (
        f"zero {zero} with this `extra`: {fault.message if fault else 'a stage that it excludes'}"
    )


def ulysses_pipeline(job: Job, pp: Column, cp: Column) -> Column:
    return (pp == 1) | (cp == 1)


def ulysses_stage(job: Job, zero: Column, cp: Column, offload: Column) -> Column:
    own_optimizer = job.train.precision == "bf16" and sums_in_fp32(job)
    return (zero != 1) | (cp == 1) | (offload > 0) | (not own_optimizer)


def accumulation(job: Job, zero: Column, microbatches: Column) -> Column:
    return (zero >= 1) | (microbatches == 1) | (not sums_in_fp32(job))


def plain_average(job: Job, zero: Column) -> Column:
    extra = options_of(job).extra
    scaled = (
        extra.get("prescale_gradients", False) or extra.get("gradient_predivide_factor", 1) != 1
    )
    scatters = extra.get("zero_optimization.reduce_scatter", True)
    return (zero < 2) | (not (scaled and scatters))


def ramp(job: Job, micro_batch: Column, dp_replicate: Column, dp_shard: Column) -> Column:
    first = job.train.ramp_from
    return True if first is None else first % (micro_batch * dp_replicate * dp_shard) == 0


def ramp_offload(job: Job, offload: Column) -> Column:
    return (offload == 0) | (job.train.ramp_from is None)


def whole_tensors(job: Job, tp: Column, offload: Column, hpz: Column) -> Column:
    return (tp == 1) | ((offload == 0) & (hpz == 1))


def four_bits(job: Job, zero: Column) -> Column:
    return (zero < 3) | (job.train.tune != "qlora")


AUTOTP = (
    heads_over_tp("runtime/engine.py:1048: ranks beyond the heads hold no attention"),
    Predicate(
        "PAR112",
        "kv-heads-tp",
        "kv_heads do not divide evenly over tp",
        ("tp",),
        lambda job, tp: job.model.groups % tp == 0,
        lambda job, tp: f"kv_heads {job.model.groups} is not a multiple of tp {tp}",
        "runtime/engine.py:1048: DeepSpeed warns that attention then does not scale; parc does not write it",
        stricter="the engine starts, deals heads out unevenly or not at all, and the fullest rank is slow",
        effect=Effect.WORSE,
    ),
    widths_over_tp(
        "module_inject/tp_shard.py divides unevenly; parc prices even shards alone",
        stricter="the engine starts with uneven shards, which parc does not price",
        effect=Effect.WORSE,
    ),
    Predicate(
        "PAR430",
        "autotp-offload",
        "tp above 1 with offload or hpz",
        ("tp", "offload", "hpz"),
        whole_tensors,
        lambda job, tp, offload, hpz: (
            f"tp {tp} (AutoTP) with offload {OFFLOAD[offload]} and hpz {hpz}: parc supports neither with it"
        ),
        "module_inject/layers.py replaces weights before ZeRO moves them; stricter than DeepSpeed, not tried",
        stricter="not tried together",
        effect=Effect.ACCEPTS,
    ),
    Predicate(
        "PAR431",
        "autotp-tied",
        "tp above 1 with tied embeddings",
        ("tp",),
        lambda job, tp: (tp == 1) | (not job.model.tied),
        lambda job, tp: f"tp {tp} (AutoTP) with tied embeddings: their logits stay divided over the ranks",
        "runtime/tensor_parallel/config.py:53, vocab_parallel_lm_head; stricter than DeepSpeed",
        stricter="the engine starts, and each rank's loss sees its part of the vocabulary alone",
        effect=Effect.WORSE,
    ),
)

PREDICATES = (
    *AUTOTP,
    *releases.PREDICATES,
    Predicate(
        "PAR490",
        "four-bits-stage",
        "ZeRO 3 with frozen weights in 4 bits",
        ("zero",),
        four_bits,
        lambda job, zero: (
            f"zero {zero} with `tune = qlora`: bitsandbytes' scales of 4-bit weights stay whole, and "
            "parc's train.py divides none of them"
        ),
        "partition_parameters.py divides a weight as it is built, before there are values to quantize",
        stricter="files of Hugging Face's Trainer divide them with `bnb_4bit_quant_storage`; not tried here",
        cure="`tune = lora`: ZeRO 3 divides 16-bit frozen weights; or `target accelerate {}`: FSDP2 divides "
        "those in 4 bits",
        effect=Effect.ACCEPTS,
    ),
    Predicate(
        "PAR450",
        "extra-stage",
        "a key of `extra` that DeepSpeed refuses at this stage of ZeRO",
        ("zero",),
        stage_of_extra,
        stage_of_extra_needs,
        ", ".join(dict.fromkeys(row.source for row in OF_STAGE)),
    ),
    Predicate(
        "PAR401",
        "zero-pp",
        "ZeRO 2 or 3 with a pipeline",
        ("pp", "zero"),
        pipeline_stage,
        lambda job, pp, zero: (
            f"zero {zero} with pp {pp}: ZeRO-2 and ZeRO-3 are incompatible with pipeline parallelism"
        ),
        "runtime/pipe/engine.py:77: a stage keeps its gradients over all micro-batches",
    ),
    Predicate(
        "PAR405",
        "offload-stage",
        "offload at a ZeRO stage that does not shard what is offloaded",
        ("zero", "offload"),
        offload_stage,
        lambda job, zero, offload: (
            f"offload {OFFLOAD[offload]} needs zero >= {OFFLOAD_STAGE[offload]}, not zero {zero}"
        ),
        "runtime/zero/config.py accepts the pair and the engine then ignores it",
        stricter='the engine starts and ignores the offload',
        effect=Effect.IGNORES,
    ),
    Predicate(
        "PAR411",
        "zero-group",
        "zero over only some of the replicas",
        ("zero", "dp_replicate", "dp_shard"),
        shard_group,
        lambda job, zero, dp_replicate, dp_shard: (
            f"zero {zero} with dp_replicate {dp_replicate} * dp_shard {dp_shard}: "
            f"ZeRO divides over {'no' if zero == 0 else 'all'} replicas"
        ),
        "runtime/engine.py:2683, 2768: the whole data-parallel group; MiCS is gone (runtime/config.py:81)",
        stricter='one way to write what is divided: DeepSpeed has no other group',
        effect=Effect.ACCEPTS,
    ),
    Predicate(
        "PAR412",
        "hpz",
        "a secondary partition (hpz) that does nothing, or of uneven parts",
        ("zero", "hpz", "gpus", "offload"),
        secondary_partition,
        lambda job, zero, hpz, gpus, offload: (
            f"hpz {hpz} on {gpus} GPUs with zero {zero} and offload {OFFLOAD[offload]}: it needs zero 3, "
            "several equal parts, and weights on the GPU"
        ),
        "utils/groups.py:918, _create_zero_param_parallel_group; runtime/zero/stage3.py:265 alone reads it",
        stricter='the engine starts and ignores it, or divides over groups of unequal size',
        effect=Effect.IGNORES,
    ),
    Predicate(
        "PAR116",
        "ulysses",
        "Ulysses does not divide the heads, key-value heads or sequence evenly",
        ("cp",),
        ulysses_heads,
        lambda job, cp: (
            f"{job.model.heads} heads, {job.model.groups} key-value heads: not divisible by cp {cp} (Ulysses)"
        ),
        "each rank of the all-to-all gets whole heads (arXiv 2309.14509, 3)",
        stricter="nothing looks before train.py's first attention, which cannot deal the heads out",
    ),
    Predicate(
        "PAR413",
        "ulysses-pp",
        "cp above 1 with pp above 1",
        ("pp", "cp"),
        ulysses_pipeline,
        lambda job, pp, cp: f"cp {cp} (Ulysses) with pp {pp}",
        "runtime/pipe/topology.py: the pipeline's grid has no sequence axis",
    ),
    Predicate(
        "PAR414",
        "ulysses-zero",
        "cp above 1 with zero 1 and gradients summed in fp32",
        ("zero", "cp", "offload"),
        ulysses_stage,
        lambda job, zero, cp, offload: (
            f"zero {zero} with cp {cp} (Ulysses) and gradients summed in fp32: DeepSpeed then finds no "
            "gradients on all but one rank of a sequence"
        ),
        "runtime/bf16_optimizer.py:573 takes the sequence's ranks for tensor-parallel ones",
        stricter='the engine starts, and its first step finds no gradients',
    ),
    Predicate(
        "PAR409",
        "accumulate",
        "zero 0 with gradients of several micro-batches summed in fp32",
        ("zero", "microbatches"),
        accumulation,
        lambda job, zero, microbatches: (
            f"zero {zero} cannot sum {microbatches} micro-batches' gradients in fp32"
        ),
        "runtime/engine.py:2323, `unsupported mix`; `accumulate = compute` sums them in 16 bits",
        stricter='asked for fp32 the engine refuses, so the file would leave it out and sum in 16 bits',
    ),
    Predicate(
        "PAR437",
        "ramp",
        "the first batch of a ramp is not a whole number of micro-batches on each replica",
        ("micro_batch", "dp_replicate", "dp_shard"),
        ramp,
        lambda job, micro_batch, dp_replicate, dp_shard: (
            f"ramp_from {job.train.ramp_from} is not a multiple of micro_batch {micro_batch} * "
            f"dp_replicate {dp_replicate} * dp_shard {dp_shard}"
        ),
        "runtime/engine.py:1330, set_train_batch_size: Train batch size must be divisible by micro-batch",
        stricter='the engine refuses such a batch, so train.py would have whole micro-batches of another',
    ),
    Predicate(
        "PAR438",
        "ramp-offload",
        "a batch that grows with offloaded states",
        ("offload",),
        ramp_offload,
        lambda job, offload: (
            f"offload {OFFLOAD[offload]} with ramp_from {job.train.ramp_from}: the optimizer keeps the count "
            "of micro-batches that it started with"
        ),
        "runtime/zero/stage_1_and_2.py:324 and 1864",
        stricter="the engine starts, and the stages that count for themselves were not tried",
        effect=Effect.ACCEPTS,
    ),
    Predicate(
        "PAR433",
        "scaled-gradients",
        "zero 2 or 3 with `prescale_gradients` or `gradient_predivide_factor`",
        ("zero",),
        plain_average,
        lambda job, zero: (
            f"zero {zero} with gradients scaled before their reduction (`prescale_gradients`, "
            "`gradient_predivide_factor`): the reduce-scatter has no such scale"
        ),
        "runtime/zero/stage_1_and_2.py:350, stage3.py:395",
    ),
)  # fmt: skip
