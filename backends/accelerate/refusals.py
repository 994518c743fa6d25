"""Job settings that TRL under accelerate does not have, in any layout."""

from collections.abc import Iterator

from ...compiler.target import Refusal
from ...dsl.diagnostics import Diagnostic
from ...dsl.job import Job
from .. import environment, model_features, refusals
from ..huggingface.families import dropped, lacking
from .environment import VARIABLES
from .options import options_of

#: Features of models (`model_features.py`) that the Llama of transformers has, and those of a router.
HAS = frozenset({"rope_linear", "rope_llama3", "init_std", "init_unscaled"}) | frozenset(
    name for name in model_features.NAMES if name.startswith(("router", "aux_loss", "z_loss"))
)
BLENDED = "PAR498"
#: Complaints of `settings`.
CODES = {
    **environment.CODES,
    BLENDED: ("several-files", "target accelerate reads one file of tokens"),
}


def has(job: Job) -> frozenset[str]:
    """Models with experts are refused as such, so nothing is said of their features."""
    return model_features.NAMES if job.model.moe else HAS


def _experts(job: Job) -> str | None:
    count = job.model.experts
    return f"parc writes no experts for accelerate (`experts = {count}`)" if count else None


def _latent(job: Job) -> str | None:
    rank = job.model.kv_lora_rank
    return (
        f"parc writes no latent attention for accelerate (`kv_lora_rank = {rank}`)"
        if rank
        else None
    )


def _stages(job: Job) -> str | None:
    if job.stages or job.previous is not None:
        return "train.py for accelerate trains in one stage"
    return None


def _growing(job: Job) -> str | None:
    first = job.train.ramp_from
    return None if first is None else f"the Trainer's batch does not grow (`ramp_from = {first}`)"


def _compiled(job: Job) -> str | None:
    if not job.train.compile:
        return None
    return "parc compiles no layers under accelerate's FSDP2 (`compile`)"


def _exponential(job: Job) -> str | None:
    train = job.train
    if train.schedule != "wsd" or train.decay_style != "exponential":
        return None
    return "transformers' schedules have no `decay_style = exponential`"


def _async(job: Job) -> str | None:
    if not job.train.async_checkpoints:
        return None
    return "the Trainer waits until a checkpoint is written (`async_checkpoints`)"


_OTHERS = "`target megatron {}` and `target torchtitan {}`"
REFUSALS = (
    *model_features.lacking("the model of transformers", has),
    Refusal(
        "PAR434",
        "no-async-checkpoints",
        "checkpoints that are written beside the training",
        _async,
        ("train", "async_checkpoints"),
        "training waits while a checkpoint is written",
        line="async_checkpoints = false",
    ),
    Refusal(
        "PAR493",
        "one-stage",
        "training in stages, in the Trainer",
        _stages,
        ("train",),
        "no line changes that: `target megatron {}` and `target torchtitan {}` train in stages",
    ),
    Refusal(
        "PAR494",
        "no-growing-batch",
        "a batch that grows, in the Trainer",
        _growing,
        ("train", "ramp_from"),
        "the whole batch from the first step on",
        line="ramp_from = none; ramp_tokens = none",
    ),
    Refusal(
        "PAR495",
        "compiled-fsdp",
        "layers under accelerate's FSDP2 are to be compiled",
        _compiled,
        ("train", "compile"),
        "the same training in PyTorch's own kernels",
        line="compile = false",
    ),
    Refusal(
        "PAR497",
        "no-exponential-decay",
        "the rate is to fall exponentially",
        _exponential,
        ("train", "decay_style"),
        "the rate falls in a straight line",
        line="decay_style = linear",
    ),
    refusals.accelerator("accelerate"),
    refusals.optimizers("accelerate", "adam"),
    refusals.precisions("accelerate", "bf16"),
    refusals.multi_token_prediction("accelerate"),
    Refusal(
        "PAR420",
        "no-experts",
        "the model has experts",
        _experts,
        ("model", "experts"),
        f"no line changes that: {_OTHERS} train experts",
    ),
    Refusal(
        "PAR421",
        "no-latent-attention",
        "the model has latent attention",
        _latent,
        ("model", "kv_lora_rank"),
        f"no line changes that: {_OTHERS} have latent attention",
    ),
    Refusal(
        "PAR469",
        "not-of-transformers",
        "the model is no Llama, Qwen2 or Qwen3",
        lacking,
        ("model",),
        "no line changes that: `target megatron {}` and `target deepspeed {}` train other models",
    ),
    Refusal(
        "PAR362",
        "no-dropout",
        "dropout is not 0",
        dropped,
        ("train", "dropout"),
        "no activations are set to zero; `adapter_dropout` is another setting",
        line="dropout = 0",
    ),
)


def settings(job: Job) -> Iterator[Diagnostic]:
    """Variables that cannot be, and data of several files."""
    yield from environment.problems(job, VARIABLES)
    data = options_of(job).data
    if data is not None and len(data.parts) > 1:
        message = f"`data` of target accelerate is one file, not {len(data.parts)}"
        span = job.span("target", "accelerate", "data")
        yield Diagnostic(BLENDED, message, span, help="put the token ids into one file")
