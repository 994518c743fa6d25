"""Job settings that torchtitan does not support, in any layout."""

from dataclasses import replace

from ...compiler.target import Refusal
from ...dsl.job import Job
from .. import refusals
from .model_refusals import MODEL_REFUSALS
from .models import family
from .releases import RELEASES, release, since


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


def _precision(job: Job) -> str | None:
    chosen, written = job.train.precision, release(job)
    if family(job) == "gpt_oss" and chosen != "bf16":
        return f"parc does not write {chosen} for torchtitan's gpt_oss"
    if chosen in written.precisions or chosen not in RELEASES["0.2.2"].precisions:
        return None
    return f"parc does not write {chosen} for torchtitan {written.name}"


def _mxfp8(job: Job) -> str | None:
    """components/quantization/mx.py:42; 0.2.2 asks for AMD's gfx950 too."""
    archs, arch = release(job).mxfp8, job.cluster.gpu.arch
    lacking = refusals.mxfp8(*archs).asked(job)
    if lacking is None or arch not in RELEASES["0.2.2"].mxfp8:
        return lacking
    return f"{lacking} in {release(job).name}; {since(lambda each: arch in each.mxfp8, 'takes it')}"


REFUSALS = (
    refusals.accelerator("torchtitan"),
    refusals.adapters("torchtitan"),
    refusals.optimizers("torchtitan", "adam"),
    # Its trainer scales no losses, which fp16 needs.
    refusals.precisions("torchtitan", "bf16", "fp8", "mxfp8"),
    replace(refusals.mxfp8("gfx950"), asked=_mxfp8),
    *MODEL_REFUSALS,
    Refusal(
        "PAR369",
        "no-release-precision",
        "the precision is one that parc does not write for this release",
        _precision,
        ("train", "precision"),
        'another rounding; `version = "0.2.2"` of the target has more precisions',
        line="precision = bf16",
    ),
    Refusal(
        "PAR361",
        "no-unfused-attention",
        "attention is not fused",
        _attention,
        ("train", "attention"),
        "the same training, faster and with less memory",
        line="attention = flash",
    ),
    Refusal(
        "PAR362",
        "no-dropout",
        "dropout is not 0",
        _dropout,
        ("train", "dropout"),
        "nothing is dropped, as most language models are trained today",
        line="dropout = 0",
    ),
)
