"""Megatron-LM as the compiler sees it: which degrees it may choose, what it cannot run, what it costs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from ...compiler.target import StateBytes, Target, Traits, divisors
from ...dsl.diagnostics import Diagnostic
from ...dsl.job import Job
from .capability import compute_capability
from .options import Options
from .rules import PREDICATES

VIRTUAL_STAGES = (1, 2, 3, 4, 5, 6, 7, 8, 10, 12)
MICRO_BATCHES = (1, 2, 4, 8, 16, 32)
#: Fully recomputed layers of a chunk, in steps of about 3/2; 0 stands for all.
RECOMPUTED = (0, 1, 2, 3, 4, 6, 8, 12, 16, 32, 64)
#: Below this many tokens per GPU the ring of context parallelism hides nothing.
LEAST_CONTEXT_TOKENS = 1024
MOST_CONTEXT_RANKS = 128


def worlds(job: Job) -> list[int]:
    return sorted({nodes * job.cluster.gpus_per_node for nodes in job.cluster.nodes})


def domains(job: Job) -> Mapping[str, Sequence[int]]:
    """Candidate values; what they may not combine is in the predicates."""
    sizes = worlds(job)
    tp = _dividing(sizes, divisors(job.model.heads, min(job.cluster.domain, sizes[-1])))
    pp = _pipelines(job, sizes)
    cp = _contexts(job, sizes)
    dp = _replicas(job, sizes, tp, pp, cp)
    moe, zero = job.model.moe, (0,) if job.train.optimizer == "muon" else (0, 1, 2, 3)
    return {
        "tp": tp,
        "pp": pp,
        "vpp": _virtual_stages(job, pp),
        "cp": cp,
        "ep": _dividing(sizes, divisors(job.model.experts, sizes[-1])) if moe else (1,),
        "etp": tp if moe else (1,),
        "dp_replicate": dp,
        "dp_shard": dp if zero[-1] else (1,),
        "zero": zero,
        "micro_batch": tuple(k for k in MICRO_BATCHES if job.train.global_batch % k == 0),
        "recompute": (0, 1, 2),
        "recompute_layers": tuple(k for k in RECOMPUTED if k < job.model.layers),
    }


def _dividing(sizes: Sequence[int], degrees: Iterable[int]) -> tuple[int, ...]:
    """The degrees into which some number of GPUs can be divided."""
    return tuple(k for k in degrees if any(size % k == 0 for size in sizes))


def _pipelines(job: Job, sizes: Sequence[int]) -> tuple[int, ...]:
    return _dividing(sizes, range(1, min(job.model.layers + 2, sizes[-1]) + 1))


def _virtual_stages(job: Job, pp: Sequence[int]) -> tuple[int, ...]:
    fewest = next((k for k in pp if k > 1), None)
    if fewest is None:
        return (1,)
    return tuple(k for k in VIRTUAL_STAGES if k == 1 or k * fewest <= job.model.layers + 2)


def _contexts(job: Job, sizes: Sequence[int]) -> tuple[int, ...]:
    most = min(job.train.seq_len // LEAST_CONTEXT_TOKENS, MOST_CONTEXT_RANKS, sizes[-1])
    powers = [2**k for k in range(MOST_CONTEXT_RANKS.bit_length())]
    return tuple(k for k in powers if k == 1 or (k <= most and job.train.seq_len % (2 * k) == 0))


def _replicas(job: Job, sizes: Sequence[int], *degrees: Sequence[int]) -> tuple[int, ...]:
    """Data-parallel degrees that some choice of the other degrees leaves, and that divide the batch."""
    products = {1}
    for choices in degrees:
        products = {product * choice for product in products for choice in choices}
    left = {size // product for size in sizes for product in products if size % product == 0}
    return tuple(sorted(k for k in left | {1} if job.train.global_batch % k == 0))


#: Optimizer bytes per parameter in fp32: main weights and the moments that each optimizer keeps.
#: megatron/core/optimizer/optimizer.py; muon and sgd with momentum keep one moment.
OPTIMIZER_BYTES = {"adam": 12.0, "sgd": 8.0, "muon": 8.0, "adam8bit": 12.0}


def state(job: Job, zero: int) -> StateBytes:
    """16-bit weights (fp8 keeps them, without --fp8-param-gather) and fp32 gradients.

    megatron/training/theoretical_memory_usage.py counts the same: 18 bytes, or 6 + 12 / dp under the
    distributed optimizer; Megatron-FSDP divides gradients and weights too.
    """
    return StateBytes(
        weights=2.0,
        gradients=4.0,
        optimizer=OPTIMIZER_BYTES[job.train.optimizer],
        weights_sharded=zero >= 3,
        gradients_sharded=zero >= 2,
        optimizer_sharded=zero >= 1,
    )


def workspace_bytes(job: Job) -> int:
    """cuBLAS workspace of Transformer Engine: 32 MiB from Hopper on, else 4 MiB (pytorch/module/base.py)."""
    return 32 * 2**20 if compute_capability(job.cluster.gpu.arch) >= 90 else 4 * 2**20


TRAITS = Traits(
    state=state,
    # Megatron-FSDP gathers a layer before its forward and again before its backward pass.
    gathers=lambda zero: 2 if zero >= 3 else 0,
    # megatron_fsdp.py: optim_grads and optim_grads_params reduce-scatter in each backward pass.
    reduces_each=lambda zero: zero >= 2,
    selective="core_attention",
    context="ring",
    # tensor_parallel/cross_entropy.py: 16-bit logits and one fp32 copy, reused by the gradient.
    logit_bytes=6.0,
    # arguments.py: bf16 runs reduce in fp32 unless --grad-reduce-in-bf16.
    reduce_bytes=4.0,
    vocab_multiple=128,
    buffers=workspace_bytes,
    # Data loader, schedule and loss bookkeeping on the host; assumed until benchmarks fit them.
    micro_batch_overhead=1e-3,
    step_overhead=20e-3,
)


@dataclass(frozen=True)
class Refusal:
    """One thing that a job may ask for and Megatron-LM does not have: `asked(job)` says what, or None."""

    code: str
    asked: Callable[[Job], str | None]
    path: tuple[str, ...]
    help: str


def _activation(job: Job) -> str | None:
    model = job.model
    known = ("silu",) if model.gated else ("gelu", "squared_relu")
    if model.activation_name in known:
        return None
    shape = "gated" if model.gated else "plain"
    return f"megatron has no {shape} `{model.activation_name}` feed-forward block"


def _flash(job: Job) -> str | None:
    gpu = job.cluster.gpu
    if (
        job.train.attention == "unfused"
        or gpu.vendor != "nvidia"
        or compute_capability(gpu.arch) >= 80
    ):
        return None
    return (
        f"fused attention needs compute capability 8.0, and {gpu.name or 'the GPU'} is {gpu.arch}"
    )


def _grouped_experts(job: Job) -> str | None:
    gpu = job.cluster.gpu
    if not job.model.moe or gpu.vendor != "nvidia" or compute_capability(gpu.arch) >= 80:
        return None
    return f"grouped expert products need compute capability 8.0, and {gpu.name or 'the GPU'} is {gpu.arch}"


def _mxfp8(job: Job) -> str | None:
    if job.train.precision != "mxfp8" or compute_capability(job.cluster.gpu.arch) >= 100:
        return None
    return f"mxfp8 needs Blackwell (sm100), and {job.cluster.gpu.name or 'the GPU'} is {job.cluster.gpu.arch}"


def _missing_rate(job: Job) -> str | None:
    rate = "fp8" if job.train.precision == "mxfp8" else job.train.precision
    if getattr(job.cluster.gpu, rate) is not None:
        return None
    return f"{job.cluster.gpu.name or 'the GPU'} has no {rate} matrix units"


REFUSALS = (
    Refusal(
        "PAR320",
        lambda job: (
            f"megatron runs on CUDA and ROCm, and {job.cluster.gpu.name or 'the accelerator'} has neither"
            if job.cluster.gpu.vendor not in ("nvidia", "amd")
            else None
        ),
        ("cluster", "gpu"),
        "drop this target, or plan for it on GPUs",
    ),
    Refusal(
        "PAR321",
        lambda job: "megatron has no 8-bit adam" if job.train.optimizer == "adam8bit" else None,
        ("train", "optimizer"),
        "its optimizers are adam, sgd and muon",
    ),
    Refusal(
        "PAR322",
        _activation,
        ("model",),
        "gated silu, plain gelu and plain squared_relu have options",
    ),
    Refusal(
        "PAR323",
        lambda job: (
            "megatron's pretrain_gpt.py trains causal models alone"
            if not job.model.causal
            else None
        ),
        ("model", "causal"),
        "causal = true",
    ),
    Refusal(
        "PAR324",
        lambda job: (
            f"megatron takes a whole number for rope_theta, not {job.model.rope_theta:g}"
            if job.model.position == "rope" and job.model.rope_theta % 1
            else None
        ),
        ("model", "rope_theta"),
        "round it",
    ),
    Refusal("PAR325", _flash, ("train", "attention"), "attention = unfused"),
    Refusal("PAR326", _grouped_experts, ("cluster", "gpu"), "A100 or later"),
    Refusal("PAR327", _mxfp8, ("train", "precision"), "precision = fp8 or bf16"),
    Refusal("PAR328", _missing_rate, ("train", "precision"), "another precision or another GPU"),
    Refusal(
        "PAR329",
        lambda job: (
            f"megatron combines mtp_layers with rope or no positions, not with `{job.model.position}`"
            if job.model.mtp_layers and job.model.position == "learned"
            else None
        ),
        ("model", "mtp_layers"),
        "mtp_layers = 0, or position = rope",
    ),
)


def refuses(job: Job) -> list[Diagnostic]:
    """What no layout can repair, each with the place in the job that asks for it."""
    return [
        Diagnostic(refusal.code, message, job.span(*refusal.path), help=refusal.help)
        for refusal in REFUSALS
        if (message := refusal.asked(job)) is not None
    ]


TARGET = Target(
    name="megatron",
    options=Options,
    domains=domains,
    predicates=PREDICATES,
    refuses=refuses,
    traits=TRAITS,
)
