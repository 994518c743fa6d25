"""What a job may ask for and torchtitan cannot express in any layout."""

from collections.abc import Iterator

from ...compiler.target import Refusal
from ...dsl.diagnostics import Diagnostic, did_you_mean
from ...dsl.job import Job
from .. import extra, refusals
from .models import family
from .options import options_of
from .releases import RELEASES, release
from .schema import SECTIONS


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


def _window(job: Job) -> str | None:
    window = job.model.window
    return f"torchtitan's {family(job.model)} has no sliding window ({window})" if window else None


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
    if job.model.topk > limited * (job.model.experts // groups):
        return (
            f"topk {job.model.topk} is more than the experts of {limited} groups of "
            f"{job.model.experts // groups}, which is all that a token may visit"
        )
    return None


def _rope_scaling(job: Job) -> str | None:
    kind = family(job.model)
    if kind == "llama3" or options_of(job).rope_scaling == 1.0:
        return None
    return f"torchtitan's {kind} has no Llama scaling of rope (`rope_scaling`)"


def _family(job: Job) -> str | None:
    kind, written = family(job.model), release(job)
    if kind in written.families:
        return None
    return f"parc does not write torchtitan's {kind} for {written.name}"


def _precision(job: Job) -> str | None:
    chosen, written = job.train.precision, release(job)
    if chosen in written.precisions or chosen not in RELEASES["0.2.2"].precisions:
        return None
    return f"parc does not write {chosen} for torchtitan {written.name}"


REFUSALS = (
    refusals.accelerator("torchtitan"),
    refusals.optimizers("torchtitan", "adam"),
    refusals.feed_forwards("torchtitan", gated=("silu",)),
    refusals.causal_alone("torchtitan"),
    # Its trainer scales no losses, which fp16 needs.
    refusals.precisions("torchtitan", "bf16", "fp8", "mxfp8"),
    refusals.mxfp8("gfx950"),
    refusals.multi_token_prediction("torchtitan"),
    Refusal(
        "PAR368",
        "no-family",
        "the model is one that parc does not write for this release",
        _family,
        ("target", "torchtitan"),
        'version = "0.2.2"',
    ),
    Refusal(
        "PAR369",
        "no-release-precision",
        "the precision is one that parc does not write for this release",
        _precision,
        ("train", "precision"),
        'precision = bf16, or version = "0.2.2"',
    ),
    Refusal(
        "PAR351",
        "no-layernorm",
        "the norm is not rmsnorm",
        _norm,
        ("model", "norm"),
        "use the megatron or deepspeed target for layernorm",
    ),
    Refusal(
        "PAR352",
        "no-positions",
        "positions are not rotary",
        _position,
        ("model", "position"),
        "use the megatron or deepspeed target",
    ),
    Refusal(
        "PAR353",
        "no-bias",
        "linear layers have biases",
        _bias,
        ("model", "bias"),
        "use the megatron or deepspeed target for biases",
    ),
    Refusal(
        "PAR355",
        "no-window",
        "attention has a sliding window",
        _window,
        ("model", "window"),
        "use the megatron target",
    ),
    Refusal(
        "PAR357",
        "no-latent-option",
        "latent attention with tied embeddings or per-head norms",
        _latent,
        ("model",),
        "leave it out, or use the megatron target",
    ),
    Refusal(
        "PAR358",
        "no-leading-dense",
        "dense layers before experts without latent attention",
        _leading_dense,
        ("model", "dense_layers"),
        "use the megatron target",
    ),
    Refusal(
        "PAR361",
        "no-unfused-attention",
        "attention is not fused",
        _attention,
        ("train", "attention"),
        "attention = flash",
    ),
    Refusal(
        "PAR362", "no-dropout", "dropout is not 0", _dropout, ("train", "dropout"), "dropout = 0"
    ),
    Refusal(
        "PAR363",
        "router-groups",
        "the router's groups do not divide the experts, or leave a token too few",
        _router,
        ("target", "torchtitan"),
        "groups divide the experts, limited groups the groups, and topk experts fit in them",
    ),
    # 0.3.0 models/common/rope.py:285; 0.2.2's qwen3 and deepseek_v3 have no argument for it.
    Refusal(
        "PAR340",
        "no-rope-scaling",
        "Llama scaling of rope for a model that has none",
        _rope_scaling,
        ("target", "torchtitan", "rope_scaling"),
        "rope_scaling = 1",
    ),
)

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


#: Complaints of `settings`.
UNKNOWN = "PAR365"
CODES = {
    **extra.CODES,
    UNKNOWN: ("unknown-setting", "a setting that torchtitan does not know"),
}


def settings(job: Job) -> Iterator[Diagnostic]:
    """Keys of `extra` that the release does not know, or that the layout decides."""
    written = release(job)
    known = [f"{section}.{key}" for section, keys in written.sections.items() for key in keys]
    for name in options_of(job).extra:
        if name in DECIDED:
            yield extra.decided(job, "torchtitan", name)
        elif name not in known:
            yield Diagnostic(
                UNKNOWN,
                f"torchtitan {written.name} has no setting `{name}`",
                job.span("target", "torchtitan", "extra", name),
                help=did_you_mean(name, known)
                or "write section.key, such as comm.train_timeout_seconds",
            )
