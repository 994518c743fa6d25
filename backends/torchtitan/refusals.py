"""What a job may ask for and torchtitan 0.2.2 cannot express in any layout."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from ...dsl.diagnostics import Diagnostic, did_you_mean
from ...dsl.job import Job
from .models import capability, family
from .options import options_of
from .schema import SECTIONS


@dataclass(frozen=True)
class Refusal:
    """`asked(job)` says what torchtitan lacks, or None; `path` is the setting to point at."""

    code: str
    asked: Callable[[Job], str | None]
    path: tuple[str, ...]
    help: str


def _vendor(job: Job) -> str | None:
    gpu = job.cluster.gpu
    if gpu.vendor in ("nvidia", "amd"):
        return None
    return f"torchtitan runs on CUDA and ROCm, and {gpu.name or 'the accelerator'} has neither"


def _norm(job: Job) -> str | None:
    return (
        None
        if job.model.norm == "rmsnorm"
        else f"torchtitan's models have no {job.model.norm}, only rmsnorm"
    )


def _position(job: Job) -> str | None:
    if job.model.position == "rope":
        return None
    return f"torchtitan's models know rope alone, not `position = {job.model.position}`"


def _bias(job: Job) -> str | None:
    name = "bias" if job.model.bias else "qkv_bias"
    return (
        f"torchtitan's linear layers have no biases (`{name}`)"
        if job.model.bias or job.model.qkv_bias
        else None
    )


def _feed_forward(job: Job) -> str | None:
    model = job.model
    if model.gated and model.activation_name == "silu":
        return None
    kind = "gated" if model.gated else "plain"
    return f"torchtitan's feed-forward is gated silu, not {kind} {model.activation_name}"


def _mask(job: Job) -> str | None:
    if not job.model.causal:
        return "torchtitan's models are causal"
    window = job.model.window
    return f"torchtitan's {family(job.model)} has no sliding window ({window})" if window else None


def _prediction(job: Job) -> str | None:
    depth = job.model.mtp_layers
    return f"torchtitan has no multi-token prediction (`mtp_layers = {depth}`)" if depth else None


def _latent(job: Job) -> str | None:
    model = job.model
    if not model.mla:
        return None
    wanted = {"tied": model.tied, "qk_norm": model.qk_norm}
    asked = [name for name, value in wanted.items() if value]
    return f"torchtitan's deepseek_v3 has no `{asked[0]}`" if asked else None


def _leading_dense(job: Job) -> str | None:
    model = job.model
    if model.moe and model.dense_layers and not model.mla:
        return f"torchtitan's qwen3 has experts in every layer, not after {model.dense_layers} `dense_layers`"
    return None


def _precision(job: Job) -> str | None:
    gpu, precision = job.cluster.gpu, job.train.precision
    name, generation = gpu.name or "the GPU", capability(job)
    if precision == "fp16":
        return "torchtitan trains in bf16, without the loss scaling that fp16 needs"
    if gpu.bf16 is None:
        return f"torchtitan trains in bf16, which {name} has no matrix units for"
    if precision == "fp8" and (gpu.fp8 is None or (generation or 89) < 89):
        return f"fp8 needs matrix units of Ada or later, and {name} is {gpu.arch}"
    blackwell = gpu.arch == "gfx950" or (generation or 0) >= 100
    if precision == "mxfp8" and not blackwell:
        return f"mxfp8 needs Blackwell (sm100) or gfx950, and {name} is {gpu.arch}"
    return None


def _optimizer(job: Job) -> str | None:
    chosen = job.train.optimizer
    return None if chosen == "adam" else f"torchtitan 0.2.2 builds Adam and AdamW, not {chosen}"


def _attention(job: Job) -> str | None:
    if job.train.attention == "flash":
        return None
    return "torchtitan leaves the attention kernel to PyTorch, which takes a fused one"


def _dropout(job: Job) -> str | None:
    return (
        f"torchtitan's models have no dropout ({job.train.dropout:g})"
        if job.train.dropout
        else None
    )


def _router(job: Job) -> str | None:
    options = options_of(job)
    groups, limited = options.router_groups, options.router_limited_groups
    if groups is None and limited is None:
        return None
    if groups is None or limited is None:
        return "`router_groups` and `router_limited_groups` are given together or not at all"
    if job.model.experts % groups or job.model.experts // groups < 2 or limited > groups:
        return (
            f"{job.model.experts} experts do not form {groups} groups of at least 2, "
            f"of which a token visits {limited}"
        )
    return None


REFUSALS = (
    Refusal("PAR350", _vendor, ("cluster", "gpu"), "drop this target, or plan for it on GPUs"),
    Refusal(
        "PAR351", _norm, ("model", "norm"), "use the megatron or deepspeed target for layernorm"
    ),
    Refusal("PAR352", _position, ("model", "position"), "use the megatron or deepspeed target"),
    Refusal("PAR353", _bias, ("model", "bias"), "use the megatron or deepspeed target for biases"),
    Refusal("PAR354", _feed_forward, ("model",), "gated = true with activation = silu"),
    Refusal("PAR355", _mask, ("model",), "use the megatron target"),
    Refusal(
        "PAR356", _prediction, ("model", "mtp_layers"), "mtp_layers = 0, or the megatron target"
    ),
    Refusal("PAR357", _latent, ("model",), "leave it out, or use the megatron target"),
    Refusal("PAR358", _leading_dense, ("model", "dense_layers"), "use the megatron target"),
    Refusal("PAR359", _precision, ("train", "precision"), "precision = bf16 on a GPU that has it"),
    Refusal(
        "PAR360", _optimizer, ("train", "optimizer"), "optimizer = adam, or the megatron target"
    ),
    Refusal("PAR361", _attention, ("train", "attention"), "attention = flash"),
    Refusal("PAR362", _dropout, ("train", "dropout"), "dropout = 0"),
    Refusal(
        "PAR363",
        _router,
        ("target", "torchtitan"),
        "groups divide the experts, and limited groups the groups",
    ),
)


def refuses(job: Job) -> list[Diagnostic]:
    """What no layout can repair, each with the place in the job that asks for it."""
    found = [
        Diagnostic(refusal.code, message, job.span(*refusal.path), help=refusal.help)
        for refusal in REFUSALS
        if (message := refusal.asked(job)) is not None
    ]
    return found + list(_extras(job))


#: Settings that the layout decides; `extra` may not contradict it.
DECIDED = frozenset(
    {
        "training.local_batch_size",
        "training.global_batch_size",
        "training.seq_len",
        "training.dtype",
    }
    | {
        "training.mixed_precision_param",
        "training.enable_cpu_offload",
        "activation_checkpoint.mode",
    }
    | {"model.name", "model.flavor", "experimental.custom_import", "comm.mode"}
    | {
        f"parallelism.{key}"
        for key in SECTIONS["parallelism"]
        if key.endswith(("degree", "size", "stage", "part"))
    }
    | {"parallelism.pipeline_parallel_schedule", "parallelism.fsdp_reshard_after_forward"}
)


def _extras(job: Job) -> Iterator[Diagnostic]:
    """`extra` names settings of 0.2.2 and none that parc decides."""
    known = [f"{section}.{key}" for section, keys in SECTIONS.items() for key in keys]
    span = job.span("target", "torchtitan", "extra")
    for name in options_of(job).extra:
        if name in DECIDED:
            yield Diagnostic(
                "PAR364",
                f"`{name}` in `extra` is decided by the layout",
                span,
                help="constrain it in `goal`",
            )
        elif name not in known:
            help_text = (
                did_you_mean(name, known) or "write section.key, such as comm.train_timeout_seconds"
            )
            yield Diagnostic(
                "PAR365", f"torchtitan 0.2.2 has no setting `{name}`", span, help=help_text
            )
