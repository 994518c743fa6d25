"""What a job may ask for and DeepSpeed with a plain PyTorch model does not do, before any layout is tried."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from ...dsl.diagnostics import Diagnostic, did_you_mean
from ...dsl.job import Job
from .options import DECIDED_KEYS, KNOWN_KEYS, options_of


@dataclass(frozen=True)
class Refusal:
    """`asked(job)` says what DeepSpeed lacks, or None; `path` is the setting to point at."""

    code: str
    name: str
    asked: Callable[[Job], str | None]
    path: tuple[str, ...]
    help: str


REFUSALS = (
    Refusal(
        "PAR420",
        "moe",
        lambda job: f"{job.model.experts} experts" if job.model.moe else None,
        ("model", "experts"),
        "parc emits a plain PyTorch model for DeepSpeed; use the megatron or torchtitan target for experts",
    ),
    Refusal(
        "PAR421",
        "latent-attention",
        lambda job: "latent attention (`kv_lora_rank`)" if job.model.mla else None,
        ("model", "kv_lora_rank"),
        "use the megatron or torchtitan target for latent attention",
    ),
    Refusal(
        "PAR422",
        "multi-token-prediction",
        lambda job: f"`mtp_layers` {job.model.mtp_layers}" if job.model.mtp_layers else None,
        ("model", "mtp_layers"),
        "set `mtp_layers = 0`, or use the megatron target",
    ),
    Refusal(
        "PAR423",
        "precision",
        lambda job: (
            f"{job.train.precision} training"
            if job.train.precision not in ("bf16", "fp16")
            else None
        ),
        ("train", "precision"),
        "DeepSpeed 0.19 trains in bf16 or fp16",
    ),
    Refusal(
        "PAR424",
        "optimizer",
        lambda job: (
            f"the {job.train.optimizer} optimizer"
            if job.train.optimizer not in ("adam", "sgd")
            else None
        ),
        ("train", "optimizer"),
        "use `adam` or `sgd`",
    ),
    Refusal(
        "PAR425",
        "accelerator",
        lambda job: (
            f"{job.cluster.gpu.name or 'an accelerator'} of {job.cluster.gpu.vendor}"
            if job.cluster.gpu.vendor not in ("nvidia", "amd")
            else None
        ),
        ("cluster", "gpu"),
        "the emitted script trains on CUDA and ROCm GPUs",
    ),
    Refusal(
        "PAR426",
        "missing-rate",
        lambda job: (
            f"{job.train.precision} on {job.cluster.gpu.name or 'this GPU'}, which has no such matrix units"
            if getattr(job.cluster.gpu, job.train.precision, 0.0) is None
            else None
        ),
        ("train", "precision"),
        "choose another precision or another GPU",
    ),
)


def refuses(job: Job) -> list[Diagnostic]:
    """Everything in the job that DeepSpeed cannot run, whatever the layout."""
    found = [
        Diagnostic(
            refusal.code,
            f"deepspeed cannot run {asked}",
            span=job.span(*refusal.path),
            help=refusal.help,
        )
        for refusal in REFUSALS
        if (asked := refusal.asked(job)) is not None
    ]
    return found + list(_extra_keys(job))


def _extra_keys(job: Job) -> Iterator[Diagnostic]:
    span = job.span("target", "deepspeed", "extra")
    for key in options_of(job).extra:
        top = key.partition(".")[0]
        if top not in KNOWN_KEYS:
            yield Diagnostic(
                "PAR407",
                f"deepspeed reads no key `{top}` and would ignore it",
                span=span,
                help=did_you_mean(top, KNOWN_KEYS) or "take the key out of `extra`",
            )
        elif key in DECIDED_KEYS or top in ("optimizer", "scheduler"):
            yield Diagnostic(
                "PAR427",
                f"`extra` may not set `{key}`: the job and the layout decide it",
                span=span,
                help="constrain the layout in `goal`, or change the setting in `train`",
            )
