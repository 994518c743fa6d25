"""Rules between degrees: those that torchtitan enforces, and those that it does not check and breaks on."""

from __future__ import annotations

from ....compiler.algebra import Column
from ....compiler.rules.divisibility import (
    expert_width_over_etp,
    experts_over_ep,
    heads_over_tp,
    widths_over_tp,
)
from ....compiler.target import Effect, Predicate
from ....dsl.arrays import at_least, choose
from ....dsl.job import Job
from ..data import evaluates
from ..models import family
from ..options import options_of
from ..pipeline_rules import PACKAGE, PIPELINE, TORCH
from ..releases import release

FSDP = f"{TORCH} distributed/fsdp/_fully_shard"
UNCHECKED = "the trainer is made, and its first forward pass fails"


def kv_heads_divide(job: Job, tp: Column) -> Column:
    return (job.model.groups % tp == 0) | job.model.mla


def expert_mesh_fits(job: Job, tp: Column, cp: Column, ep: Column, dp_shard: Column) -> Column:
    """With etp 1, ep takes all of tp, in 0.2.0 of cp too, and a part of dp_shard * cp."""
    taken = expert_unit(job, tp, cp)
    return (ep == 1) | ((ep % taken == 0) & ((dp_shard * cp * tp) % ep == 0))


def expert_unit(job: Job, tp: Column, cp: Column) -> Column:
    """The number that ep must be a multiple of."""
    return tp * cp if release(job).experts_over_cp else tp


def etp_follows(job: Job, tp: Column, ep: Column, etp: Column) -> Column:
    """Without ep experts are divided like dense layers; with it they stay whole, as in 0.2.2's presets."""
    if not job.model.moe:
        return etp == 1
    follows: Column = choose(ep == 1, etp == tp, etp == 1)
    return follows


def expert_shards_even(
    job: Job, tp: Column, cp: Column, ep: Column, dp_replicate: Column, dp_shard: Column
) -> Column:
    """FSDP2 divides experts by number, or by their inner and outer widths where they are too few.

    Too few are they for ep * shards, and without ep in 0.3.0 for all ranks of a stage, replicas and tp too.
    """
    model = job.model
    if not model.moe:
        return True
    shards = at_least(expert_shards(tp, cp, ep, dp_shard), 1)
    ranks = dp_replicate * dp_shard * cp * tp
    whole = ranks if release(job).experts_by_width else 0
    by_number = (model.experts // ep) % shards == 0
    inner = choose(ep > 1, model.expert_width, model.expert_width // tp)
    by_width = (model.hidden % shards == 0) & (inner % shards == 0)
    needed: Column = choose(ep > 1, shards * ep, whole)
    even: Column = choose(needed > model.experts, by_width, by_number)
    return even


def expert_shards(tp: Column, cp: Column, ep: Column, dp_shard: Column) -> Column:
    shards: Column = choose(ep > 1, dp_shard * cp * tp // ep, dp_shard * cp)
    return shards


def zero_fits(job: Job, zero: Column, pp: Column, cp: Column, dp_shard: Column) -> Column:
    """0 is no FSDP, 1 FSDP2 in a pipeline, 2 and 3 FSDP2 that never or always frees gathered weights."""
    without = choose(pp > 1, zero == 1, (zero == 2) | (zero == 3))
    fits: Column = choose(dp_shard * cp == 1, zero == 0, without)
    return fits


HEADS = (
    heads_over_tp(
        f"{PACKAGE} models/llama3/model/model.py:256 (unchecked, dies in the first forward pass)",
        UNCHECKED,
    ),
    Predicate(
        "PAR112",
        "kv-heads-tp",
        "kv_heads do not divide evenly over tp",
        ("tp",),
        kv_heads_divide,
        lambda job, tp: f"kv_heads {job.model.groups} is not a multiple of tp {tp}",
        f"{PACKAGE} models/llama3/model/model.py:257 (unchecked, dies in the first forward pass)",
        stricter=UNCHECKED,
    ),
    widths_over_tp(
        f"{PACKAGE} models/llama3/infra/parallelize.py:239 ('a and b must have same reduction dim')",
        UNCHECKED,
    ),
    Predicate(
        "PAR131",
        "seq-split",
        "the sequence does not divide into its parts",
        ("tp", "cp"),
        lambda job, tp, cp: job.train.seq_len % release(job).sequence(tp, cp) == 0,
        lambda job, tp, cp: (
            f"seq_len {job.train.seq_len} is not a multiple of {release(job).sequence(tp, cp)}, "
            f"which tp {tp} and cp {cp} need"
        ),
        f"{PACKAGE} models/llama3/infra/parallelize.py:70, distributed/parallel_dims.py:372; "
        "0.3.0 trainer.py:312, components/loss.py:671 (in the first step)",
    ),
)

EXPERTS = (
    experts_over_ep(f"{PACKAGE} distributed/expert_parallel.py:108", UNCHECKED),
    Predicate(
        "PAR102",
        "expert-world",
        "the experts' degrees do not divide the GPUs of a stage",
        ("tp", "cp", "ep", "dp_shard"),
        expert_mesh_fits,
        lambda job, tp, cp, ep, dp_shard: (
            f"ep {ep} must be a multiple of {'tp * cp' if release(job).experts_over_cp else 'tp'} "
            f"{expert_unit(job, tp, cp)} and divide dp_shard {dp_shard} * cp {cp} * tp {tp} "
            f"= {dp_shard * cp * tp}"
        ),
        f"{PACKAGE} distributed/parallel_dims.py:138, config/job_config.py:468; "
        "0.2.0 distributed/parallel_dims.py:64",
    ),
    Predicate(
        "PAR457",
        "expert-tp",
        "ep above 1 without tp in a release that asks for both",
        ("tp", "ep"),
        lambda job, tp, ep: (ep == 1)
        | (tp > 1)
        | (family(job) not in release(job).experts_need_tp),
        lambda job, tp, ep: (
            f"ep {ep} without tp: {family(job)} of torchtitan {release(job).name} needs the mesh of tp, "
            "which exists only with tp above 1"
        ),
        "torchtitan 0.2.1 models/qwen3/infra/parallelize.py:105",
        cure='version = "0.2.2" in the target, or tp of at least 2',
    ),
    Predicate(
        "PAR118",
        "etp-one-or-tp",
        "etp is neither 1 nor tp, or not the one of them that the target takes",
        ("tp", "ep", "etp"),
        etp_follows,
        lambda job, tp, ep, etp: (
            f"etp {etp} must be {(tp if ep == 1 else 1) if job.model.moe else 1} with tp {tp} and ep {ep}"
        ),
        f"{PACKAGE} distributed/parallel_dims.py:59, models/llama4/infra/parallelize.py apply_moe_ep_tp",
        stricter="the trainer is made; parc writes what the presets of 0.2.2 have, and prices that",
    ),
    expert_width_over_etp(f"{PACKAGE} distributed/expert_parallel.py:60", UNCHECKED),
    Predicate(
        "PAR344",
        "expert-shards",
        "experts do not divide evenly over the FSDP shards",
        ("tp", "cp", "ep", "dp_replicate", "dp_shard"),
        expert_shards_even,
        lambda job, tp, cp, ep, dp_replicate, dp_shard: (
            f"{job.model.experts} experts of {job.model.hidden} x {job.model.expert_width} over ep {ep} "
            f"do not divide evenly over {expert_shards(tp, cp, ep, dp_shard)} FSDP shards: "
            "they would be padded or refused"
        ),
        f"{PACKAGE} models/llama4/infra/parallelize.py:402, {FSDP}/_fsdp_param.py:295; "
        "0.3.0 distributed/fsdp.py:202",
        stricter="the trainer is made where FSDP2 pads, and each shard is larger than its share",
    ),
)


SHARDING = (
    Predicate(
        "PAR341",
        "precision-needs-fsdp",
        "tp or pp without FSDP trains in fp32",
        ("tp", "pp", "cp", "dp_shard"),
        lambda job, tp, pp, cp, dp_shard: (dp_shard * cp > 1) | ((tp == 1) & (pp == 1)),
        lambda job, tp, pp, cp, dp_shard: (
            f"tp {tp} and pp {pp} without FSDP (dp_shard {dp_shard} * cp {cp} = 1) train in fp32: "
            "torchtitan turns mixed precision off"
        ),
        f"{PACKAGE} distributed/utils.py:253; replicas beside tp: models/llama3/infra/parallelize.py:151",
        stricter="the trainer is made, and warns that mixed precision is off",
        effect=Effect.WORSE,
    ),
    Predicate(
        "PAR343",
        "zero-fsdp",
        "a zero stage that is not how FSDP2 works there",
        ("zero", "pp", "cp", "dp_shard"),
        zero_fits,
        lambda job, zero, pp, cp, dp_shard: (
            f"zero {zero} with pp {pp} and {dp_shard * cp} shards: FSDP2 is zero 0 on one shard, 1 in a "
            "pipeline (gradients stay whole until the last micro-batch), otherwise 2 or 3"
        ),
        f"{PACKAGE} models/llama3/infra/parallelize.py:327, {TORCH} distributed/pipelining/stage.py:847",
        stricter="names for how FSDP2 works there: other numbers would be written alike",
    ),
    Predicate(
        "PAR345",
        "tied-fsdp",
        "tied embeddings over FSDP2",
        ("cp", "dp_shard"),
        lambda job, cp, dp_shard: (
            (dp_shard * cp == 1) | (not job.model.tied) | release(job).tied_shards
        ),
        lambda job, cp, dp_shard: (
            f"tied embeddings cannot be divided by FSDP2 (dp_shard {dp_shard} * cp {cp}): "
            "torchtitan wraps embedding and output apart"
        ),
        f"{PACKAGE} models/llama4/infra/parallelize.py apply_fsdp, {FSDP}/_fsdp_state.py:224",
        stricter="the trainer is made, and its first forward pass finds the shared weight wrapped twice",
        cure='`target torchtitan { version = "0.3" }` shards them; or `model { tied = false }`',
    ),
)

EVALUATION = (
    Predicate(
        "PAR392",
        "evaluation-cp",
        "evaluation with cp above 1 by a model that keeps its angles elsewhere",
        ("cp",),
        lambda job, cp: (cp == 1)
        | release(job).python
        | (family(job) != "qwen3")
        | (not evaluates(options_of(job))),
        lambda job, cp: f"cp {cp} with `validation`: torchtitan's validator looks for freqs_cis in qwen3",
        f"{PACKAGE} components/validate.py:210 (in the first evaluation)",
        stricter="the trainer is made, and its first evaluation fails",
    ),
)

RECOMPUTATION = (
    Predicate(
        "PAR348",
        "selective-experts",
        "selective recomputation with ep above 1",
        ("ep", "recompute"),
        lambda job, ep, recompute: (
            (ep == 1) | (recompute != 1) | release(job).selective_experts | (not job.model.moe)
        ),
        lambda job, ep, recompute: (
            f"selective recomputation with ep {ep}: PyTorch finds other operations in the backward pass "
            "than in the forward pass, where FSDP2 gathers experts ahead"
        ),
        f"{TORCH} utils/checkpoint.py:1453; {PACKAGE} models/llama4/infra/parallelize.py:432",
        stricter="the trainer is made, and its first backward pass fails",
    ),
)

PRECISION = (
    Predicate(
        "PAR346",
        "fp8-experts",
        "fp8 experts with pp or cp above 1",
        ("pp", "cp"),
        lambda job, pp, cp: ((pp == 1) & (cp == 1))
        | (job.train.precision != "fp8")
        | (not job.model.moe),
        lambda job, pp, cp: f"fp8 experts exclude pipeline and context parallelism, not pp {pp} and cp {cp}",
        f"{PACKAGE} components/quantization/float8.py:195",
    ),
    Predicate(
        "PAR347",
        "mxfp8-compile",
        "compiled mxfp8 with tp above 1",
        ("tp",),
        lambda job, tp: (tp == 1) | (job.train.precision != "mxfp8") | (not job.train.compile),
        lambda job, tp: f"mxfp8 with compile excludes tensor parallelism, not tp {tp}",
        f"{PACKAGE} components/quantization/mx.py:52",
    ),
)

PREDICATES: tuple[Predicate, ...] = (
    HEADS + EXPERTS + PIPELINE + SHARDING + EVALUATION + RECOMPUTATION + PRECISION
)
