"""Memory of frameworks that are not targets of parc: traits to replace, by a row's columns."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from typing import Any

from benchmarks.accuracy.rows.csv_rows import Row, Unusable, month_of
from parc.backends.megatron.moments import REMAINDERS
from parc.compiler.traits import StateBytes
from parc.dsl.job import Job

Traits = tuple[tuple[str, Any], ...]
#: Elements of the bucket in which DeepSpeed reduces gradients and gathers weights, unless a configuration
#: sets it.
BUCKET = 500_000_000


def _in_16_bits(zero: int, step: float) -> StateBytes:
    """16-bit gradients that the backward pass allocates; `step` bytes more in the update."""
    return StateBytes(
        weights=2.0,
        gradients=2.0,
        optimizer=12.0,
        weights_sharded=zero >= 3,
        gradients_sharded=zero >= 2,
        optimizer_sharded=zero >= 1,
        gradients_stay=zero == 3,
        step=step,
    )


def megatron_2021(job: Job, zero: int) -> StateBytes:
    """Float16OptimizerWithFloat16Params makes fp32 gradients for the update (megatron/optimizer)."""
    return _in_16_bits(zero, step=4.0)


def deepspeed_16_bits(job: Job, zero: int) -> StateBytes:
    """DeepSpeed's FP16_Optimizer and ZeRO: for the update each rank flattens its part of the gradients
    and casts it to fp32 (runtime/zero/stage_1_and_2.py); stage 3 goes by small groups."""
    return _in_16_bits(zero, step=6.0 if zero <= 2 else 0.0)


def summed_in_fp32(job: Job, zero: int) -> StateBytes:
    """Whole fp32 sums and the 16-bit gradients that go into them."""
    return StateBytes(2.0, 6.0, 12.0, False, False, zero >= 1)


def nanotron(job: Job, zero: int) -> StateBytes:
    """`summed_in_fp32` with replicas: a hook of DistributedDataParallel adds up its buckets, two bytes more
    (optim/gradient_accumulator.py), but at ZeRO 1, which gathers weights into flat copies, nanotron's and
    torch's own, when 16-bit gradients are gone (distributed.py, all_gather_coalesced)."""
    found = summed_in_fp32(job, zero)
    return replace(found, step_whole=2.0) if zero else replace(found, gradients=8.0)


def bf16_optimizer(job: Job, zero: int) -> StateBytes:
    """DeepSpeed's ZeRO 1 of 2022 in bf16 (runtime/bf16_optimizer.py; the source says: not sharded, 4 more
    bytes), which sends the sums as one tensor of 16 bits (runtime/engine.py, allreduce_bucket)."""
    return replace(summed_in_fp32(job, zero), step_whole=2.0)


def widened(job: Job, zero: int) -> float:
    """Bytes of its sums: a gradient is cast to fp32, and that is added (update_hp_grads)."""
    return 18.0


BF16_OPTIMIZER: Traits = (("state", bf16_optimizer), ("sum_bytes", widened))


def oneflow(job: Job, zero: int) -> StateBytes:
    """OneFlow's graph of one rank: fp32 variables cast to 16 bits, fp32 gradients, cast and unscaled at once,
    in the places that casts and activations leave free (core/job_rewriter/fuse_cast_scale_pass.cpp; clipping
    by the norm reads them all before any is used)."""
    return StateBytes(2.0, 0.0, 12.0, False, False, False, step=2.0)


def oneflow_reduced(job: Job, zero: int) -> StateBytes:
    """`oneflow` with data parallelism on a stream of its own: input and output of an all-reduce,
    in 16 bits (do_parallel_cast_before_widening_type_cast_pass.cpp), share places with nothing."""
    return replace(oneflow(job, zero), gradients=4.0)


#: OneFlow's mixed precision takes the loss in 16 bits, probabilities and their gradient, but that of divided
#: logits in fp32: it is not in its lists (core/job_rewriter/auto_mixed_precision_lists.cpp).
ONEFLOW: Traits = (("logit_bytes", 4.0), ("local_logit_bytes", 8.0), ("reduce_bytes", 2.0))
#: Softmax over rows too long for shared memory reads them three times and writes once, its gradient reads and
#: writes once.
HALF_LOSS: Traits = (("loss_bytes", 12.0),)


def no_copies(job: Job, zero: int) -> float:
    """Weights are fp8 themselves, divided, and gathered as such (Megatron-Bridge, fp8_param_gather of
    training/mixed_precision.py; keep_fp8_transpose_cache is off in scripts/performance)."""
    return 0.0


SHARDED_FP8: Traits = (("copied_weight_bytes", no_copies),)


def gradients_in_16_bits(job: Job, zero: int) -> StateBytes:
    """Megatron-LM's state with gradients in 16 bits (--grad-reduce-in-bf16)."""
    return StateBytes(2.0, 2.0, 12.0, zero >= 3, zero >= 2, zero >= 1)


IN_16_BITS: Traits = (("state", gradients_in_16_bits), ("reduce_bytes", 2.0))


def scaling(job: Job, zero: int) -> StateBytes:
    """Aleph Alpha's trainer: 16-bit gradients, whole until the step, and their fp32 part for the update
    (Aleph-Alpha/scaling, core/optimizer/parameter_group.py, step_prequel, which frees them)."""
    return replace(gradients_in_16_bits(job, zero), gradients_stay=False, step=4.0)


def buffered_logits(pp: Any) -> Any:
    """Its pipeline, of one stage too, keeps the 16-bit logits of the micro-batch before
    (core/nn/pipeline_schedule/train.py, required_buffer_count)."""
    return 2.0 + 0.0 * pp


#: Its head gathers logits over tp (ColumnParallelLinear without parallel_output), and torch's loss holds them
#: in 16 bits, their log-softmax and two gradients in fp32 (transformer/model/losses/cross_entropy.py). With
#: sequence parallelism norms gather what they return, and products keep it (core/nn/norm/rms_norm.py). The
#: first backward pass of a step allocates whole gradients in what logits and activations leave free, and they
#: stay until the update: the gaps are the only figure fitted to its runs (fit_memory.py).
ALEPH_ALPHA: Traits = (
    ("state", scaling),
    ("reduce_bytes", 2.0),
    ("gathers_logits", True),
    ("logit_bytes", 14.0),
    ("output_logit_bytes", buffered_logits),
    ("keeps_outputs", True),
    ("keeps_gathered", True),
    ("gaps", 3 / 8),
)


def no_bucket(job: Job) -> int:
    """A pipeline of DeepSpeed reduces after the step's last backward pass, in what activations leave free
    (runtime/pipe/engine.py, _exec_reduce_grads)."""
    return 0


#: stage3_max_live_parameters, DeepSpeed's default and that of BigScience's script; tensor parallelism is
#: Megatron-LM's, which leaves logits divided.
DEEPSPEED_3: Traits = (
    ("live_parameters", 1e9),
    ("gathers_logits", False),
    ("weight_gradient_bytes", 2.0),
)


def bucket_of_a_square(job: Job) -> int:
    """reduce_bucket_size is hidden * hidden in BigScience's script and in what transformers fills in for
    `auto`; four at once, as in parc's own target."""
    return 4 * 2 * job.model.hidden**2


#: Megatron-LM before its fused losses: 16-bit logits, their fp32 copy and its softmax
#: (core/tensor_parallel/cross_entropy.py of 2021).
OLD_LOGITS: Traits = (("logit_bytes", 10.0), ("weight_gradient_bytes", 2.0))


def logged_outputs(pp: Any) -> Any:
    """Megatron-DeepSpeed's last layer returns fp32 logits, with one stage too, and DeepSpeed's pipeline keeps
    those of two micro-batches (runtime/pipe/engine.py). With what hangs on them it is 14 bytes per logit: a
    log of bigscience's (experiments/gpt2-meg-ds-3d) has 701 MiB more on the last stage after a step than its
    parameters explain, for 49.5 Mi logits."""
    return 7.0 + 0.0 * pp


#: DeepSpeed's pipeline; Megatron-LM's of the time keeps outputs too.
PIPELINE: Traits = (
    ("keeps_outputs", True),
    ("receive_buffers", 2),
    ("output_logit_bytes", logged_outputs),
)


#: Megatron-LM of 2021 keeps the outputs of its stages.
OF_2021: Traits = (("state", megatron_2021), *PIPELINE[:1], *OLD_LOGITS)


State = Callable[[Job, int], StateBytes]


#: The first release of Transformer Engine whose Adam reads moments in 16 bits as they are, and its
#: month.
FUSED_MOMENTS, FUSED_SINCE = (2, 14), "2026-04"


def with_moments(row: Row, traits: Traits, own: State) -> Traits:
    """Traits with Adam's moments in 16 bits, and Megatron-LM's precision-aware optimizer, where a row says
    so; `own` is the target's state."""
    if row.moment_dtype not in ("", "fp32", "bf16"):
        raise Unusable(f"unknown moment_dtype `{row.moment_dtype}`")
    short, state = row.moment_dtype == "bf16", dict(traits).get("state", own)
    if short and not row.framework.startswith(("megatron", "deepspeed")):
        return (*traits, ("state", _all_in_16_bits(state)), ("reduce_bytes", 2.0))
    saved = 4.0 if short else 0.0
    if not row.framework.startswith("megatron"):
        return (*traits, ("state", _narrowed(state, saved))) if short else traits
    if not (short or row.precision_aware):
        return traits
    copies = 8.0 if short and not _reads_short_moments(row) else 0.0
    if row.precision in REMAINDERS:
        return (*traits, ("state", _narrowed(state, saved + 2.0, copies, keeps_step=False)))
    return (*traits, ("state", _narrowed(state, saved, copies)))


def _reads_short_moments(row: Row) -> bool:
    """Whether the update needs no fp32 copies of both moments of all parameters at once
    (pytorch/optimizers/fused_adam.py, get_unscaled_state)."""
    if row.te_version:
        return _release_of(row.te_version) >= FUSED_MOMENTS
    month = month_of(row.framework_version)
    return not month or month >= FUSED_SINCE


@cache
def _all_in_16_bits(state: State) -> State:
    """Weights, gradients and moments in 16 bits, without main weights: PyTorch's AdamW keeps moments in the
    dtype of the parameters that it updates (torch/optim/adam.py, zeros_like)."""

    def narrowed(job: Job, zero: int) -> StateBytes:
        found = state(job, zero)
        return replace(found, weights=2.0, gradients=2.0, optimizer=4.0, step=0.0)

    return narrowed


def _release_of(version: str) -> tuple[int, int]:
    """Raises Unusable for a version without two numbers."""
    if found := re.match(r"v?(\d+)\.(\d+)", version, re.ASCII):
        return int(found[1]), int(found[2])
    raise Unusable(f"te_version `{version}` is no release such as 2.11")


@cache
def _narrowed(state: State, saved: float, copies: float = 0.0, keeps_step: bool = True) -> State:
    """Main weights and moments in `saved` bytes less, with `copies` bytes in the update; without `keeps_step`
    gradients in 16 bits are read as they are (core/optimizer/distrib_optimizer.py, decoupled_grad).
    """

    def narrowed(job: Job, zero: int) -> StateBytes:
        found = state(job, zero)
        briefly = copies + (found.step if keeps_step else 0.0)
        return replace(found, optimizer=found.optimizer - saved, step=briefly)

    return narrowed


def of_the_target(row: Row) -> Traits:
    """Nothing differs but the dtype of gradients, where a row says it."""
    return IN_16_BITS if row.grad_dtype in ("bf16", "fp16") else ()


def of_performance_recipes(row: Row) -> Traits:
    """Gradients in 16 bits, as NeMo's and Megatron-Bridge's performance recipes have them
    (grad_reduce_in_fp32 is off), unless a row says otherwise."""
    copies = SHARDED_FP8 if row.zero_stage == 3 and row.precision == "fp8" else ()
    return copies if row.grad_dtype == "fp32" else (*copies, *IN_16_BITS)


def nanotron_sums(row: Row) -> Traits:
    """trainer.py: without ZeRO DistributedDataParallel reduces beside the backward pass, with it the sums are
    reduced after, and whole."""
    several = (row.dp or 1) * (row.cp or 1) > 1
    beside = ("gradient_reduction", row.zero_stage == 0)
    return (("state", nanotron if several else summed_in_fp32), beside)


def oneflow_plan(row: Row) -> Traits:
    """oneflow_gpt/training.py: nccl_use_compute_stream with tensor parallelism. pipeline_buffer_pass.cpp:
    room for 2 pp inputs of every layer, undivided, where pp are in flight."""
    apart = row.tp == 1 and (row.dp or 1) > 1
    room = ("receive_buffers", (row.layers or 0) * (row.tp or 1))
    loss = HALF_LOSS if row.tp == 1 else ()
    return (("state", oneflow_reduced if apart else oneflow), room, *ONEFLOW, *loss)


def megatron_of_2021(row: Row) -> Traits:
    """Weights and gradients in 16 bits, one logit in three copies."""
    return OF_2021


def deepspeed_of_2021(row: Row) -> Traits:
    """ZeRO of DeepSpeed 0.3 to 0.6 around a model of its own."""
    if row.zero_stage == 3:
        return (("state", deepspeed_16_bits), ("buffers", bucket_of_a_square), *DEEPSPEED_3)
    return (("state", deepspeed_16_bits), *OLD_LOGITS)


def megatron_deepspeed(row: Row) -> Traits:
    """Megatron-LM's layers in DeepSpeed's pipeline or its ZeRO 3, whose scripts set --partition-activations
    and --checkpoint-in-cpu (experiments/gpt2-meg-ds-zero/meg_ds_zero_gpt2_perf_n16.slurm)."""
    if row.zero_stage == 3:
        return (*deepspeed_of_2021(row), ("checkpoints", "host"))
    if row.zero_stage == 0:
        return (("state", megatron_2021), *PIPELINE, *OLD_LOGITS)
    kept = BF16_OPTIMIZER if row.grad_dtype == "fp32" else (("state", deepspeed_16_bits),)
    return (*kept, ("buffers", no_bucket), *PIPELINE, *OLD_LOGITS)


def bucket_bytes(row: Row, layout: Mapping[str, int]) -> int:
    """Bytes of the flat copies of gradients, and of gathered weights, that DeepSpeed's ZeRO 1 makes at the
    end of a step; BF16_Optimizer sends its sums as they lie."""
    flat = row.framework == "megatron-deepspeed" and row.grad_dtype != "fp32"
    return 2 * BUCKET if flat and layout["zero"] in (1, 2) else 0
