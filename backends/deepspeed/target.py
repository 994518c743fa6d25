"""DeepSpeed 0.19.8 as the compiler sees it: which degrees it may choose and what they cost."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from ...compiler.model import parameters
from ...compiler.rules.candidate_degrees import gpu_divisors, micro_batches, replica_degrees
from ...compiler.target import Target
from ...compiler.traits import (
    KernelTraits,
    MemoryTraits,
    OverlapTraits,
    StateBytes,
    TensorTraits,
    Traits,
    WireTraits,
)
from ...compiler.tuning.ledger import dequantized_bytes, frozen_bytes, trained_share
from ...dsl.arrays import np
from ...dsl.job import Job
from .. import cautions
from ..extra import unpriced
from ..host import HOST
from ..huggingface.families import family
from ..pytorch_kernels import LONE_CONTEXT
from . import extra, stack
from .constraints import PREDICATES
from .options import (
    Options,
    hugging_face,
    mask_bytes,
    masked,
    options_of,
    sums_in_fp32,
    wide_gradients,
)
from .refusals import CODES, REFUSALS, settings

#: Elements of one gradient bucket. DeepSpeed's default of 5e8 costs 4 GB in stage 2 and 3.
REDUCE_BUCKET = 100_000_000
#: Elements of one all-gather of updated weights in stages 1 and 2.
GATHER_BUCKET = 200_000_000
#: Parameters below this many elements stay whole in stage 3 (norms, biases); DeepSpeed's default.
PERSISTENT = 100_000
#: Elements of each partition that the stage 3 optimizer updates at a time; DeepSpeed's default.
SUB_GROUP = 1_000_000_000
#: Layers whose weights may be gathered at once: the running one and the next.
LIVE_LAYERS = 2


def domains(job: Job) -> Mapping[str, Sequence[int]]:
    """Candidate values; what they may not combine is in the predicates."""
    data = replica_degrees(job)
    shared: dict[str, Sequence[int]] = {
        "dp_replicate": data,
        "dp_shard": data,
        "zero": (0, 1, 2, 3),
        "micro_batch": micro_batches(job),
        "offload": (0, 1, 2),
        "hpz": gpu_divisors(job),
    }
    if job.train.adapters is not None:
        # peft's adapters beside transformers' layers; not tried with tensor parallelism and offload.
        shared |= {"offload": (0,), "hpz": (1,)}
        return {**shared, "recompute": (0, 2)}
    if hugging_face(job):
        # transformers checkpoints whole layers, and has neither a pipeline nor Ulysses here. AutoTP adds no
        # gradients of Qwen3's norms of queries up over ranks, and Qwen2 was not tried.
        tensor = gpu_divisors(job) if family(job) == "Llama" else (1,)
        return {"tp": tensor, **shared, "recompute": (0, 2)}
    return {
        "pp": tuple(k for k in gpu_divisors(job) if k <= job.model.layers),
        "cp": tuple(k for k in gpu_divisors(job) if job.model.heads % k == 0),
        **shared,
        "recompute": (0, 1, 2),
    }


#: fp32 main weights and the moments of each optimizer, in bytes per parameter
#: (torch.optim.SGD keeps one moment, ops/adam/fused_adam.py two).
OPTIMIZER_BYTES = {"adam": 12.0, "sgd": 8.0}


def state(job: Job, zero: int) -> StateBytes:
    """Bytes per parameter of 16-bit training; a census of live tensors between micro-batches finds the same.

    Stage 0: FP16_Optimizer (engine.py:2317) sums gradients in 16 bits.
    Stage 1 with fp32 sums: BF16_Optimizer (engine.py:2305) keeps a whole fp32 gradient
    (bf16_optimizer.py:192), and `immediate_grad_update` frees the 16-bit one in the backward pass
    (bf16_optimizer.py:715); for fp16, stage_1_and_2.py:1237 does the same.
    Stage 2 keeps its part of the sum (stage_1_and_2.py:1268), stage 3 too (stage3.py:791).
    Stages 1 and 2 cast their part of 16-bit gradients to fp32 for the update; stage 3 keeps a flat buffer.
    BF16_Optimizer has its fp32 gradients reduced as one tensor (bf16_optimizer.py:196), which is cast to 16
    bits whole for that (engine.py:3801) unless it travels in fp32: BigScience's runs of 2022 show these two
    bytes.
    """
    trained, frozen = trained_share(job), frozen_bytes(job)
    bf16_optimizer = zero == 1 and sums_in_fp32(job) and job.train.precision == "bf16"
    return StateBytes(
        weights=2.0 * trained + frozen,
        unsaved=frozen if job.train.tune == "qlora" else 0.0,
        gradients=trained * (4.0 if zero >= 1 and sums_in_fp32(job) else 2.0),
        optimizer=trained * OPTIMIZER_BYTES.get(job.train.optimizer, 12.0),
        weights_sharded=zero >= 3,
        gradients_sharded=zero >= 2,
        optimizer_sharded=zero >= 1,
        gradients_stay=zero == 3 or (zero == 1 and sums_in_fp32(job)),
        step=trained * (4.0 if zero in (1, 2) and not sums_in_fp32(job) else 0.0),
        step_whole=2.0 * trained if bf16_optimizer and not wide_gradients(job) else 0.0,
    )


def sum_bytes(job: Job, zero: int) -> float:
    """Bytes to add a micro-batch's gradient up.

    Stage 1 with fp32 sums widens it and adds that (bf16_optimizer.py, _update_hp_grad; for fp16
    stage_1_and_2.py), sums in 16 bits are autograd's; stages 2 and 3 add a rank's part alone.
    """
    if zero >= 2:
        return 0.0
    return trained_share(job) * (18.0 if zero == 1 and sums_in_fp32(job) else 6.0)


def buffer_bytes(job: Job) -> int:
    """Four 16-bit gradient buckets, the masks of attention where it takes any, and the 16-bit copy of a 4-bit
    matrix that is multiplied.

    Stage 2 fills one while it reduces another (stage_1_and_2.py:1170); stage 3 holds one and packs up to
    three for its reduce-scatter (stage3.py:454 and 782, coalesced_collectives.py:122). In fp32 a bucket has a
    copy to travel (stage3.py:1870, stage_1_and_2.py:1493).
    """
    travelling = 4 * REDUCE_BUCKET if wide_gradients(job) else 0
    return 4 * 2 * REDUCE_BUCKET + travelling + mask_bytes(job) + dequantized_bytes(job)


def layer_parameters(job: Job) -> int:
    return parameters.dense_layer(job.model).total


def bucket(job: Job, ranks: Any, ways: Any) -> Any:
    """A bucket, or a weight alone that is larger: a quarter of a block, which has four products."""
    return np.maximum(REDUCE_BUCKET, layer_parameters(job) / 4 / ways)


#: The script that starts a run.
ENTRY = "deepspeed/launch.sh"
TRAITS = Traits(
    memory=MemoryTraits(
        state=state,
        selective="feed_forward",
        # train.py: fp32 log-softmax, its gradient and that of the loss together (12.06 measured, PyTorch
        # 2.13).
        logit_bytes=12.0,
        # train.py: 16-bit logits are gone when `cross_entropy` returns, and leave a gap too small for a
        # gradient in fp32.
        freed_logit_bytes=2.0,
        lone_context=LONE_CONTEXT,
        # The hyperbolic tangent that train.py caps logits with, in fp32.
        cap_logit_bytes=4.0,
        # train.py: kernels that take a mask want as many key heads as query heads.
        repeats_keys=masked,
        # pipe/engine.py: pipe_buffers["outputs"] until the backward pass of the micro-batch.
        keeps_outputs=True,
        # The same file: pipe_recv_buf and grad_layer, beside pipe_buffers["inputs"] and ["outputs"].
        receive_buffers=2,
        # The same list on the last stage, which never empties it: 16-bit logits in each of its two buffers.
        output_logit_bytes=lambda pp: np.where(pp > 1, 2.0, 0.0),
        # stage3.py: gradients leave for the reduction in buckets (`buffer_bytes`) as the layer goes.
        layer_gradient_bytes=0.0,
        # stage3.py:547: the flat buffer of partitions lies where the optimizer does, and each micro-batch
        # after the first brings its part to the GPU, adds and puts it back (stage3.py:1489).
        sums_on_host=lambda zero: zero == 3,
        buffers=buffer_bytes,
    ),
    tensor=TensorTraits(
        # AutoTP: every rank keeps whole residuals, and gathers whole logits (module_inject/layers.py). It
        # divides what transformers' plan for Llama names (configuration_llama.py:49), and that is no
        # embedding.
        sequence_parallel=False,
        whole_embedding=True,
        gathers_logits=True,
    ),
    wire=WireTraits(
        # partitioned_param_coordinator.py: before a module's forward and again before its backward pass.
        gathers=lambda zero: 2 if zero == 3 else 0,
        # engine.py:3084: stages 2 and 3 reduce after every micro-batch.
        reduces_each=lambda zero: zero >= 2,
        contexts=("a2a",),
        # engine.py:1719: gradients travel in the dtype of computation.
        reduce_bytes=2.0,
        bucket=bucket,
        # stage_1_and_2.py:1516: a bucket is all-reduced, and each rank copies what is its own;
        # BF16_Optimizer's gradients are too (engine.py:3795).
        all_reduces=lambda zero: zero in (1, 2),
    ),
    overlap=OverlapTraits(
        # engine.py:3094: stages 0 and 1 reduce all gradients at once, after the last backward pass.
        gradient_reduction=False,
        # utils.py:1016: updated weights are gathered in one piece after the update, and the step waits for
        # them.
        updated_weight_gather=False,
    ),
    kernels=KernelTraits(
        # torch.nn.functional.cross_entropy in fp32: widened (6), log-softmax in two passes (12), its gradient
        # in two (16), filled with zeros before (4), narrowed (6).
        loss_bytes=44.0,
        # partition_parameters.py:795: weights gathered together are cut out of what came.
        gather_copy_bytes=4.0,
        reduce_copy_bytes=stack.REDUCE_COPY_BYTES,
        sum_bytes=sum_bytes,
        # train.py is eager PyTorch: norms, activations and rotary embedding are separate kernels.
        fused=False,
    ),
    # Assumed: schedule, loss and logging.
    host=replace(HOST, micro_batch_overhead=2e-3),
)


def checkpoints(job: Job) -> dict[str, str]:
    """The folder of `save`, from which a restart resumes too."""
    return {"save": folder} if (folder := options_of(job).save) else {}


TARGET = Target(
    name="deepspeed",
    # benchmarks/data/measured_public.csv: releases of 2020 to 2022, none of today.
    measured_on={"dense": ("sm70", "sm80")},
    checkpoints=checkpoints,
    options=Options,
    domains=domains,
    predicates=PREDICATES,
    refusals=REFUSALS,
    traits=TRAITS,
    cautions=(
        cautions.made_up_data("deepspeed"),
        cautions.UNBALANCED,
        unpriced("deepspeed", extra.costs, lambda options: options.extra),
    ),
    stack=stack.traits,
    settings=settings,
    codes=CODES,
)
