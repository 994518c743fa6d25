"""Settings of `train` that torchtitan does not support, in any layout."""

from ...compiler.target import Refusal
from ...dsl.job import Job
from .models import family
from .options import options_of

CODE, NAME, TITLE = "PAR394", "no-training-feature", "torchtitan lacks what `train` asks for"


def _ramp(job: Job) -> str | None:
    if job.train.ramp_from is None:
        return None
    return f"torchtitan's batch does not grow (`ramp_from = {job.train.ramp_from}`)"


def _decay(job: Job) -> str | None:
    """components/lr_scheduler.py (0.2.2) and components/optimizer/lr_scheduler.py (0.3.0)."""
    train = job.train
    if train.schedule != "wsd" or train.decay_style != "exponential":
        return None
    return "torchtitan's learning rate does not fall exponentially (`decay_style = exponential`)"


def _kept(job: Job) -> str | None:
    """components/checkpoint.py and components/checkpointer/base.py: the last one may be half written."""
    if job.train.keep_checkpoints != 1:
        return None
    return "torchtitan keeps at least two checkpoints, not `keep_checkpoints = 1`"


def _weights(job: Job) -> str | None:
    """Names of weights are those of models/<family>/**/state_dict_adapter.py."""
    model = job.model
    if job.train.weights is None:
        return None
    if not options_of(job).save:
        return "torchtitan reads `weights` with what writes checkpoints (`save = false`)"
    if family(job) == "gpt_oss":
        return "torchtitan reads no Hugging Face checkpoint of gpt_oss in 16 bits"
    if family(job) != "qwen3" or not model.moe:
        return None
    if not model.qk_norm:
        return "torchtitan reads no Hugging Face checkpoint of experts without `qk_norm` (Mixtral)"
    if model.shared_experts:
        return "torchtitan's qwen3 reads no Hugging Face checkpoint with shared experts"
    return None


REFUSALS = (
    Refusal(
        CODE,
        NAME,
        TITLE,
        _ramp,
        ("train", "ramp_from"),
        "the whole batch from the first step",
        line="ramp_from = none",
    ),
    Refusal(
        CODE,
        NAME,
        TITLE,
        _decay,
        ("train", "decay_style"),
        "another decay; torchtitan has linear and sqrt",
        line="decay_style = cosine",
    ),
    Refusal(
        CODE,
        NAME,
        TITLE,
        _kept,
        ("train", "keep_checkpoints"),
        "one more checkpoint stays on disk",
        line="keep_checkpoints = 2",
    ),
    Refusal(
        CODE,
        NAME,
        TITLE,
        _weights,
        ("train", "weights"),
        "a start from random weights; `target megatron {}` reads those of gated blocks, rmsnorm and rope",
        line="weights = none",
    ),
)
