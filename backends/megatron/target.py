"""Megatron-LM as the compiler sees it: which degrees it may choose, what it cannot run, what it costs."""

from collections.abc import Iterator, Mapping, Sequence

from ...compiler.rules.candidate_degrees import (
    counts,
    gpu_divisors,
    micro_batches,
    pipeline_degrees,
    replica_degrees,
    virtual_stages,
)
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
from ...compiler.variables import FINE, WHOLE_MOE
from ...dsl.arrays import np
from ...dsl.diagnostics import Diagnostic
from ...dsl.job import Job
from .. import cautions, environment, observation, stack_problems
from ..capability import HOPPER, capability
from ..extra import unpriced
from ..host import HOST
from . import (
    context_ways,
    data,
    exchange_overlap,
    extra,
    moments,
    offload,
    quantized_weights,
    recomputed_modules,
    releases,
    stack,
)
from .constraints import arguments
from .constraints.layouts import PREDICATES, WHOLE_OPTIMIZERS
from .models import RANKING
from .option_groups import VOCAB_MULTIPLE
from .options import Options, options_of
from .refusals import REFUSALS


def domains(job: Job) -> Mapping[str, Sequence[int]]:
    """Candidate values; what they may not combine is in the predicates."""
    model, degrees = job.model, gpu_divisors(job)
    tp = tuple(k for k in degrees if model.heads % k == 0)
    pp, dp = pipeline_degrees(job), replica_degrees(job)
    finer = [FINE] if recomputed_modules.layer_outputs(job) else []
    finer += [WHOLE_MOE] if model.moe else []
    zero = (0,) if job.train.optimizer in WHOLE_OPTIMIZERS else (0, 1, 2, 3)
    return {
        "tp": tp,
        "pp": pp,
        "vpp": virtual_stages(job, pp),
        "cp": degrees,
        "ep": tuple(k for k in degrees if model.experts % k == 0) if model.moe else (1,),
        "etp": tp if model.moe else (1,),
        "dp_replicate": dp,
        "dp_shard": dp if zero[-1] else (1,),
        "zero": zero,
        "micro_batch": micro_batches(job),
        "offload": offload.levels(job),
        "recompute": (0, 1, 2, *finer),
        "recompute_layers": (0, *counts(model.layers - 1)),
    }


#: Optimizer bytes per parameter in fp32: main weights and the moments that each optimizer keeps.
#: megatron/core/optimizer/optimizer.py; muon and sgd with momentum keep one moment.
OPTIMIZER_BYTES = {"adam": 12.0, "sgd": 8.0, "muon": 8.0, "adam8bit": 12.0}


def state(job: Job, zero: int) -> StateBytes:
    """Weights in 16 bits, or as their products read them, and fp32 gradients.

    megatron/training/theoretical_memory_usage.py counts the same: 18 bytes, or 6 + 12 / dp under the
    distributed optimizer; Megatron-FSDP divides gradients and weights too. 16-bit gradients
    (--grad-reduce-in-bf16: core/distributed/param_and_grad_buffer.py takes the parameter's dtype) are copied
    to fp32 for the update of those that a rank owns (core/optimizer, _copy_model_grads_to_main_grads).
    """
    short = options_of(job).grad_dtype == "bf16"
    return StateBytes(
        weights=quantized_weights.weight_bytes(job, zero),
        gradients=2.0 if short else 4.0,
        optimizer=moments.optimizer_bytes(job, OPTIMIZER_BYTES[job.train.optimizer]),
        weights_sharded=zero >= 3,
        gradients_sharded=zero >= 2,
        optimizer_sharded=zero >= 1,
        step=moments.update_bytes(job, 4.0 if short else 0.0),
    )


def workspace_bytes(job: Job) -> int:
    """cuBLAS workspace of Transformer Engine: 32 MiB from Hopper on, else 4 MiB (pytorch/module/base.py)."""
    return 32 * 2**20 if capability(job) >= HOPPER else 4 * 2**20


#: The script that starts a run.
ENTRY = "megatron/pretrain.sh"
TRAITS = Traits(
    memory=MemoryTraits(
        state=state,
        selective="core_attention",
        gathers_keys=True,
        # Of a model that has them all; recomputed_modules.py says what those of a job are.
        discarded=tuple(recomputed_modules.MODULES),
        # moe/experts.py: the activation function weighs by the router's scores: unpermuting saves nothing.
        keeps_expert_outputs=False,
        # Transformer Engine's Linear saves its quantized input (pytorch/module/linear.py).
        saves_quantized=True,
        host_gradient_bytes=offload.GRADIENT_BYTES,
        copied_weight_bytes=quantized_weights.copied_bytes,
        # tensor_parallel/cross_entropy.py: 16-bit logits and one fp32 copy, reused by the gradient.
        logit_bytes=6.0,
        # megatron_fsdp/param_and_grad_buffer.py: an fp32 bucket per layer, filled from 16-bit gradients.
        layer_gradient_bytes=6.0,
        buffers=workspace_bytes,
    ),
    tensor=TensorTraits(
        # --sequence-parallel is an option of dense models, tp leaves norms and residuals whole without it.
        whole_sequences=True,
        vocab_multiple=VOCAB_MULTIPLE,
    ),
    wire=WireTraits(
        # Megatron-FSDP gathers a layer before its forward and again before its backward pass.
        gathers=lambda zero: 2 if zero >= 3 else 0,
        # megatron_fsdp.py: optim_grads and optim_grads_params reduce-scatter in each backward pass.
        reduces_each=lambda zero: zero >= 2,
        contexts=context_ways.ALL,
        # arguments.py: bf16 runs reduce in fp32 unless --grad-reduce-in-bf16.
        reduce_bytes=4.0,
        updated_weight_bytes=quantized_weights.gathered_bytes,
        # core/distributed/distributed_data_parallel.py: 40 M, or 1 M for each rank of a large group.
        bucket=lambda job, ranks, ways: np.maximum(40e6, 1e6 * ranks),
    ),
    overlap=OverlapTraits(
        # tensor_parallel/layers.py: the input's gather beside the product of its gradient, and the reduction
        # of that beside the product of the weight's gradient; CUDA_DEVICE_MAX_CONNECTIONS=1 keeps the order.
        tensor_parallel_backward=True,
    ),
    kernels=KernelTraits(
        # tensor_parallel/cross_entropy.py: widened (6), maximum (4), shifted, exponentiated and divided in
        # place (8 each), summed (4), scaled by the gradient (8), narrowed (6).
        loss_bytes=52.0,
    ),
    host=HOST,
)


def settings(job: Job) -> Iterator[Diagnostic]:
    """Settings of the target block that disagree."""
    yield from observation.problems(job, "megatron")
    yield from data.problems(job)
    yield from stack.problems(job)
    yield from extra.problems(job)


def checkpoints(job: Job) -> dict[str, str]:
    """The folder that `--save` and `--load` name."""
    return {"checkpoints": options_of(job).checkpoints}


TARGET = Target(
    name="megatron",
    checkpoints=checkpoints,
    options=Options,
    domains=domains,
    predicates=(
        *PREDICATES,
        *context_ways.PREDICATES,
        *stack.PREDICATES,
        *offload.PREDICATES,
        *exchange_overlap.PREDICATES,
        *moments.PREDICATES,
        *recomputed_modules.PREDICATES,
        *releases.PREDICATES,
    ),
    refusals=REFUSALS,
    traits=TRAITS,
    stack=stack.traits,
    # benchmarks/data/measured_public.csv: Megatron-LM of 2024 and later, NeMo and Megatron-Bridge.
    measured=True,
    measured_on={
        "dense": ("sm70", "sm80", "sm90", "sm100", "sm103"),
        "experts": ("sm90", "sm100", "sm103"),
    },
    cautions=(
        cautions.made_up_data("megatron", data.says_data),
        cautions.UNBALANCED,
        RANKING,
        unpriced("megatron", extra.costs, lambda options: options.extra),
    ),
    settings=settings,
    codes={
        **extra.CODES,
        **arguments.CODES,
        **environment.CODES,
        **observation.CODES,
        **data.CODES,
        **stack_problems.CODES,
    },
)
