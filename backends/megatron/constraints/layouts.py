"""Layouts that Megatron-LM refuses: one predicate per rule of its arguments, models and schedules."""

from __future__ import annotations

from ....compiler.algebra import Column, Mask
from ....compiler.rules.divisibility import (
    expert_width_over_etp,
    experts_over_ep,
    feed_forward_widths,
    heads_over_tp,
    widths_over_tp,
)
from ....compiler.rules.parallel_rules import (
    ONE_REPLICATION,
    expert_grid,
    full_rounds,
    whole_experts,
    whole_ramp,
)
from ....compiler.target import Effect, Predicate
from ....dsl.arrays import choose
from ....dsl.job import Job
from ...capability import BLACKWELL, capability
from ..options import options_of
from ..releases import from_release
from ..transformer_engine import SIDE_MULTIPLE

#: Line numbers below are of this commit (megatron-core 0.20 pre-release); 0.19.2 has the same rules.
COMMIT = "NVIDIA/Megatron-LM@d98e8a64"
ARGUMENTS = f"{COMMIT} megatron/training/arguments.py"
CONFIG = f"{COMMIT} megatron/core/transformer/transformer_config.py"
STATE = f"{COMMIT} megatron/core/parallel_state.py"
SCHEDULES = f"{COMMIT} megatron/core/pipeline_parallel/schedules.py"
#: Optimizers whose state Megatron-LM keeps whole on every rank.
WHOLE_OPTIMIZERS = ("muon", "sgd")


def fused_width(job: Job) -> int:
    """Width of queries, keys and values, which are one product (core/transformer/attention.py:1678)."""
    return (job.model.heads + 2 * job.model.groups) * job.model.head_size


def kv_heads_divide(job: Job, tp: Column) -> Column:
    """Copied ones must leave even shares of the fused product; its width is looked at for them alone, since
    files may leave it open."""
    groups = job.model.groups
    divided = job.model.mla | (groups % tp == 0)
    if isinstance(tp, int) and (divided or tp % groups):
        return divided
    return divided | ((tp % groups == 0) & (fused_width(job) % tp == 0))


def kv_heads_need(job: Job, tp: int) -> str:
    groups = job.model.groups
    if tp % groups:
        return f"kv_heads {groups} is neither a multiple nor a divisor of tp {tp}"
    return (
        f"heads {job.model.heads} and twice kv_heads {groups} make queries, keys and values "
        f"{fused_width(job)} wide, not a multiple of tp {tp}"
    )


def sequence_parallel(job: Job, tp: Column) -> Column:
    """Whether --sequence-parallel is emitted: unless the job does without, where tp divides the sequence;
    experts need it (core/transformer/moe/moe_layer.py:639)."""
    divided = (job.model.experts > 0) | (job.train.seq_len % tp == 0)
    return (tp > 1) & options_of(job).sequence_parallel & divided


def sequence_parts(job: Job, tp: Column, cp: Column) -> Column:
    """Equal parts of a sequence: two per context rank, and one per tensor rank (sequence parallelism)."""
    ways: Column = choose(sequence_parallel(job, tp), tp, 1)
    halves: Column = choose((cp > 1) & (ways % 2 == 1), 2, 1)
    return cp * ways * halves


def sequence_needs(job: Job, tp: int, cp: int) -> str:
    parted = f"tp {tp} with sequence parallelism and " if sequence_parallel(job, tp) else ""
    parts = sequence_parts(job, tp, cp)
    return f"seq_len {job.train.seq_len} is not a multiple of {parts}, as {parted}cp {cp} need"


def recompute_counts(
    job: Job, pp: Column, vpp: Column, recompute: Column, recompute_layers: Column
) -> Column:
    """0 stands for all layers; a smaller number counts those of each chunk."""
    chunk = -(-job.model.layers // (pp * vpp))
    return (recompute_layers == 0) | ((recompute == 2) & (recompute_layers < chunk))


def fsdp_alone(job: Job, zero: Column, tp: Column, cp: Column) -> Column:
    return (capability(job) >= BLACKWELL) | (zero < 2) | ((tp == 1) & (cp == 1))


def one_form(job: Job, zero: Column, tp: Column, ep: Column, etp: Column) -> Column:
    """Whether checkpoints have the form of all layouts of the job, where they are to go on under others."""
    if not job.train.elastic:
        return True
    whole = job.train.optimizer in WHOLE_OPTIMIZERS
    apart = True if not job.model.moe else experts_apart(job, tp, ep, etp)
    return (zero == (0 if whole else 1)) & apart


def experts_apart(job: Job, tp: Column, ep: Column, etp: Column) -> Mask | bool:
    """Whether experts have an optimizer of their own (core/tensor_parallel/layers.py:961 of 0.19.2)."""
    return (ep > 1) | ((etp != tp) & from_release(job, "0.19"))


def one_form_needs(job: Job, zero: int, tp: int, ep: int, etp: int) -> str:
    if zero > 1:
        return (
            f"zero {zero} is Megatron-FSDP, whose checkpoints (fsdp_dtensor) no other layout of an elastic "
            "job could read"
        )
    if zero == 0 and job.train.optimizer not in WHOLE_OPTIMIZERS:
        return (
            "zero 0 saves the optimizer's state under other names than the zero 1 of an elastic job's other "
            "layouts"
        )
    return (
        f"with ep {ep} experts share the other weights' optimizer, and an elastic job's layouts in which "
        "they have their own do not read it"
    )


def fp8_shapes(job: Job, tp: Column) -> Column:
    multiple = SIDE_MULTIPLE.get(job.train.precision)
    if multiple is None:
        return True
    width = job.model.heads * (job.model.v_head_dim or job.model.head_size)
    even = (width % (multiple * tp) == 0) & (job.model.hidden % multiple == 0)
    for ffn in feed_forward_widths(job):
        even = even & (ffn % (multiple * tp) == 0)
    return even


HEADS = (
    heads_over_tp(f"{CONFIG}:1446"),
    Predicate(
        "PAR112",
        "kv-heads-tp",
        "kv_heads do not divide evenly over tp",
        ("tp",),
        kv_heads_divide,
        kv_heads_need,
        f"{CONFIG}:1462",
    ),
    widths_over_tp(f"{COMMIT} megatron/core/utils.py:592"),
    Predicate(
        "PAR503",
        "fp8-shapes",
        "tp leaves matrix sizes that fp8 kernels do not support",
        ("tp",),
        fp8_shapes,
        lambda job, tp: (
            f"{job.train.precision} needs matrix sizes in multiples of {SIDE_MULTIPLE[job.train.precision]}, "
            f"and tp {tp} leaves other shares of hidden {job.model.hidden} or ffn {job.model.ffn}"
        ),
        "TransformerEngine transformer_engine/pytorch/utils.py assert_dim_for_fp8_exec",
        stricter="Transformer Engine refuses it in the first product",
    ),
)

EXPERTS = (
    experts_over_ep(f"{ARGUMENTS}:1656"),
    expert_width_over_etp(f"{COMMIT} megatron/core/utils.py:592"),
    whole_experts("parc writes these two; Megatron-LM takes any that divides the GPUs"),
    Predicate(
        "PAR466",
        "experts-whole-sequences",
        "experts with tp, and sequence_parallel is off",
        ("tp",),
        lambda job, tp: (tp == 1) | (not job.model.moe) | options_of(job).sequence_parallel,
        lambda job, tp: f"experts need sequence_parallel with tp {tp}",
        f"{COMMIT} megatron/core/transformer/moe/moe_layer.py:639",
        stricter="Megatron-LM starts, and its first forward pass refuses it",
    ),
    Predicate(
        "PAR119",
        "expert-bias-etp",
        "etp above 1 for experts with biases",
        ("etp",),
        lambda job, etp: (etp == 1) | (not job.model.bias),
        lambda job, etp: f"experts with biases need etp 1, not {etp}",
        f"{CONFIG}:2614",
        since="0.13",  # core_v0.13.0 transformer_config.py:1101
    ),
    expert_grid(f"{STATE}:883"),
)

SEQUENCE = (
    Predicate(
        "PAR131",
        "seq-split",
        "the sequence does not divide into its parts",
        ("tp", "cp"),
        lambda job, tp, cp: job.train.seq_len % sequence_parts(job, tp, cp) == 0,
        sequence_needs,
        f"{COMMIT} megatron/core/tensor_parallel/mappings.py:72, megatron/training/arguments.py:1336",
    ),
    Predicate(
        "PAR134",
        "unfused-cp",
        "cp above 1 with unfused attention",
        ("cp",),
        lambda job, cp: (cp == 1) | (job.train.attention != "unfused"),
        lambda job, cp: f"attention = unfused cannot be combined with cp {cp}",
        "TransformerEngine pytorch/attention: the unfused backend has no context parallelism",
        stricter="Transformer Engine finds no kernel in the first attention",
    ),
)

PIPELINE = (
    full_rounds(f"{SCHEDULES}:1160"),
    whole_ramp(
        "megatron-core 0.19.2 megatron/core/num_microbatches_calculator.py update, consistency_check"
    ),
    Predicate(
        "PAR127",
        "recompute-layers",
        "recompute_layers without full recomputation, or not below the layers of a chunk",
        ("pp", "vpp", "recompute", "recompute_layers"),
        recompute_counts,
        lambda job, pp, vpp, recompute, recompute_layers: (
            f"recompute_layers {recompute_layers} needs recompute = full and more layers than that "
            f"in a chunk ({job.model.layers} layers / pp {pp} / vpp {vpp})"
        ),
        f"{CONFIG}:1920",
        stricter="Megatron-LM does not look: all layers of a chunk are written as 0",
        effect=Effect.IGNORES,
    ),
)

SHARDING = (
    ONE_REPLICATION,
    Predicate(
        "PAR307",
        "zero-replicate",
        "dp_replicate above 1 with zero 1 or more",
        ("zero", "dp_replicate"),
        lambda job, zero, dp_replicate: (zero == 0) | (dp_replicate == 1),
        lambda job, zero, dp_replicate: (
            f"zero {zero} divides over all data-parallel GPUs, so dp_replicate must be 1, not {dp_replicate}"
        ),
        f"{STATE}:922 (num_distributed_optimizer_instances stays 1)",
        stricter="one way to write the distributed optimizer; its instances stay 1",
        effect=Effect.ACCEPTS,
    ),
    Predicate(
        "PAR308",
        "fsdp-pp",
        "Megatron-FSDP (zero 2 and 3) with pp above 1",
        ("zero", "pp"),
        lambda job, zero, pp: (zero < 2) | (pp == 1),
        lambda job, zero, pp: (
            f"zero {zero} is Megatron-FSDP, which parc does not combine with pp {pp}: "
            "it would reduce and gather all weights again for every micro-batch of the pipeline"
        ),
        f"{COMMIT} megatron/core/distributed/fsdp/src/megatron_fsdp/megatron_fsdp.py:721",
        stricter="Megatron-LM starts, and reduces and gathers all weights for every micro-batch",
        effect=Effect.WORSE,
    ),
    Predicate(
        "PAR310",
        "fsdp-tp-cp",
        "Megatron-FSDP (zero 2 and 3) with tp or cp above 1 before Blackwell",
        ("zero", "tp", "cp"),
        fsdp_alone,
        lambda job, zero, tp, cp: (
            f"zero {zero} is Megatron-FSDP, which before Blackwell needs other CUDA_DEVICE_MAX_CONNECTIONS "
            f"than tp {tp} or cp {cp}: Megatron-LM warns, parc does not combine them"
        ),
        f"{ARGUMENTS}:1459",
        stricter="Megatron-LM starts with a warning, and runs without the overlap that it was chosen for",
        effect=Effect.WORSE,
    ),
    Predicate(
        "PAR318",
        "fsdp-weights",
        "Megatron-FSDP (zero 2 and 3) with weights of Hugging Face",
        ("zero",),
        lambda job, zero: (zero < 2) | (job.train.weights is None),
        lambda job, zero: (
            f"zero {zero} is Megatron-FSDP, whose checkpoints (fsdp_dtensor) are not what `weights` become"
        ),
        f"{COMMIT} megatron/training/checkpointing.py, _load_base_checkpoint",
        stricter="Megatron-FSDP loads its own checkpoint format, and parc's conversion writes torch_dist",
    ),
    Predicate(
        "PAR453",
        "elastic-form",
        "a layout whose checkpoints have another form, where they are to go on under others",
        ("zero", "tp", "ep", "etp"),
        one_form,
        one_form_needs,
        f"{COMMIT} megatron/training/checkpointing.py, _get_checkpoint_format; "
        "megatron/core/optimizer/optimizer.py, sharded_state_dict and load_state_dict",
        stricter="an elastic job keeps one form of checkpoints at every size: the distributed optimizer's, "
        "and experts with one of their own",
    ),
    Predicate(
        "PAR309",
        "optimizer-zero",
        "zero above 0 with an optimizer other than adam",
        ("zero",),
        lambda job, zero: (zero == 0) | (job.train.optimizer not in WHOLE_OPTIMIZERS),
        lambda job, zero: f"optimizer = {job.train.optimizer} cannot be combined with zero {zero}",
        "megatron-core 0.19.2 megatron/core/optimizer/distrib_optimizer.py:689 (sgd, in 0.14.0 :494), "
        "megatron/training/arguments.py:1685 (muon; below 2 it deals out whole layers)",
        stricter="muon starts at zero 1, where Megatron-LM deals out whole layers, which parc does not price",
    ),
)

PREDICATES: tuple[Predicate, ...] = HEADS + EXPERTS + SEQUENCE + PIPELINE + SHARDING
