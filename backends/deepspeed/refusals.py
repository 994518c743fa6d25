"""What a job may ask for and DeepSpeed with a plain PyTorch model does not do, before any layout is tried."""

from collections.abc import Iterator

from ...compiler.target import Refusal
from ...dsl.diagnostics import Diagnostic, did_you_mean
from ...dsl.job import Job
from .. import extra, refusals
from .options import DECIDED_KEYS, KNOWN_KEYS, hugging_face, options_of, windowed


def _experts(job: Job) -> str | None:
    count = job.model.experts
    return f"parc's model for deepspeed has no experts (`experts = {count}`)" if count else None


def _latent(job: Job) -> str | None:
    rank = job.model.kv_lora_rank
    if not rank:
        return None
    return f"parc's model for deepspeed has no latent attention (`kv_lora_rank = {rank}`)"


def _llama(job: Job) -> str | None:
    """What transformers' Llama has not; models/llama/configuration_llama.py: `validate_architecture`."""
    if not hugging_face(job):
        return None
    model, train = job.model, job.train
    lacking = {
        f"norm = {model.norm}": model.norm != "rmsnorm",
        f"position = {model.position}": model.position != "rope",
        f"activation = {model.activation_name}": model.activation_name != "silu",
        "gated = false": not model.gated,
        "qkv_bias": model.qkv_bias and not model.bias,
        "qk_norm": model.qk_norm,
        "causal = false": not model.causal,
        f"window = {model.window}": windowed(job),
        f"dropout = {train.dropout:g}": train.dropout > 0,
        f"hidden = {model.hidden}` with `heads = {model.heads}": model.hidden % model.heads > 0,
    }
    found = [name for name, asked in lacking.items() if asked]
    return f"the Llama of transformers has no `{found[0]}`" if found else None


REFUSALS = (
    refusals.accelerator("deepspeed"),
    refusals.optimizers("deepspeed", "adam", "sgd"),
    refusals.precisions("deepspeed", "bf16", "fp16"),
    refusals.multi_token_prediction("deepspeed"),
    Refusal(
        "PAR420",
        "no-experts",
        "the model has experts",
        _experts,
        ("model", "experts"),
        "use the megatron or torchtitan target for experts",
    ),
    Refusal(
        "PAR432",
        "not-a-llama",
        "the model is no Llama, but transformers' Llama is asked for",
        _llama,
        ("target", "deepspeed"),
        "model = native",
    ),
    Refusal(
        "PAR421",
        "no-latent-attention",
        "the model has latent attention",
        _latent,
        ("model", "kv_lora_rank"),
        "use the megatron or torchtitan target for latent attention",
    ),
)

#: Complaints of `settings`.
UNKNOWN = "PAR407"
CODES = {
    **extra.CODES,
    UNKNOWN: ("unknown-top-key", "a top-level key that DeepSpeed does not read"),
}


def settings(job: Job) -> Iterator[Diagnostic]:
    """Keys of `extra` that DeepSpeed ignores, or that the job and the layout decide."""
    for key in options_of(job).extra:
        top = key.partition(".")[0]
        if top not in KNOWN_KEYS:
            yield Diagnostic(
                UNKNOWN,
                f"deepspeed reads no key `{top}` and would ignore it",
                job.span("target", "deepspeed", "extra", key),
                help=did_you_mean(top, KNOWN_KEYS) or "take the key out of `extra`",
            )
        elif key in DECIDED_KEYS or top in ("optimizer", "scheduler"):
            yield extra.decided(job, "deepspeed", key)
