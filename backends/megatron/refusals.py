"""Job settings that Megatron-LM does not support, in any layout."""

from ...compiler.target import Refusal
from ...dsl.job import Job
from .. import refusals
from ..capability import AMPERE, older_nvidia
from . import models, releases


def _whole_theta(job: Job) -> str | None:
    theta = job.model.rope_theta
    if job.model.position != "rope" or theta % 1 == 0:
        return None
    return f"megatron takes a whole number for rope_theta, not {theta:g}"


def _flash(job: Job) -> str | None:
    return None if job.train.attention == "unfused" else _needs_ampere(job, "fused attention needs")


def _needs_ampere(job: Job, what: str) -> str | None:
    if not older_nvidia(job, AMPERE):
        return None
    gpu = job.cluster.gpu
    return f"{what} compute capability 8.0, and {refusals.gpu_name(job)} is {gpu.arch}"


def _shared_biases(job: Job) -> str | None:
    if not (job.model.moe and job.model.shared_experts and job.model.bias):
        return None
    return "megatron has no biases in shared experts (`bias`)"


def _prediction_positions(job: Job) -> str | None:
    """arguments.py:857 of 0.19.2, for which latent attention's yarn is rope."""
    model = job.model
    yarn = model.rope_scaling == "yarn" and not model.mla
    if not model.mtp_layers or not (yarn or model.position == "learned"):
        return None
    other = "yarn" if yarn else "learned"
    return f"megatron combines mtp_layers with rope or no positions, not with `{other}`"


def _retention(job: Job) -> str | None:
    """checkpointing.py knows --save-retain-interval: all older ones, or those of every so many steps."""
    kept, options = job.train.keep_checkpoints, job.options("megatron")
    if kept is None or kept < 2 or (options is not None and not options.save):
        return None
    return f"megatron keeps the newest checkpoint or all, not the newest {kept}"


REFUSALS = (
    refusals.accelerator("megatron"),
    refusals.adapters("megatron"),
    refusals.optimizers("megatron", "adam", "sgd", "muon"),
    refusals.feed_forwards(
        "megatron", gated=("silu", "quick_gelu"), plain=("gelu", "squared_relu")
    ),
    # pretrain_gpt.py builds a GPTModel with a causal mask.
    refusals.causal_alone("megatron"),
    Refusal(
        "PAR324",
        "fractional-theta",
        "rope_theta is not a whole number",
        _whole_theta,
        ("model", "rope_theta"),
        "rotations that differ by less than a unit of theta",
        line=lambda job: f"rope_theta = {round(job.model.rope_theta)}",
    ),
    Refusal(
        "PAR325",
        "no-fused-attention",
        "the GPU is too old for fused attention",
        _flash,
        ("train", "attention"),
        "the same training, slower and with more memory",
        line="attention = unfused",
    ),
    Refusal(
        "PAR328",
        "no-shared-bias",
        "shared experts with biases",
        _shared_biases,
        ("model", "bias"),
        "no linear layer has a bias; `shared_experts = 0` keeps them",
        line="bias = false",
    ),
    refusals.mxfp8(),
    refusals.nvfp4(),
    Refusal(
        "PAR382",
        "keep-checkpoints",
        "some of the newest checkpoints are to stay",
        _retention,
        ("train", "keep_checkpoints"),
        "the newest alone; 0 keeps all, `save-retain-interval` in `extra` one in so many",
        line="keep_checkpoints = 1",
    ),
    Refusal(
        "PAR329",
        "mtp-positions",
        "learned or yarn positions with multi-token prediction",
        _prediction_positions,
        ("model", "mtp_layers"),
        "the model without its extra layers and their loss; rope without yarn keeps them",
        line="mtp_layers = 0",
    ),
    *models.REFUSALS,
    *releases.REFUSALS,
)
