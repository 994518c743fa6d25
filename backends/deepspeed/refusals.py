"""Job settings that DeepSpeed with a plain PyTorch model does not support, in any layout."""

from collections.abc import Iterator

from ...compiler.target import Refusal
from ...dsl.diagnostics import Diagnostic
from ...dsl.job import Job
from .. import environment, model_features, observation, refusals, stack_problems
from ..huggingface.families import dropped, lacking
from . import extra, stack
from .environment import VARIABLES
from .options import hugging_face

#: How names of features begin that only a model with experts has.
ROUTER = ("router", "aux_loss", "z_loss")
#: Features of models (`model_features.py`) that train.py has; the Llama of transformers has some of them.
OF_LLAMA = frozenset({"rope_linear", "rope_llama3", "rope_yarn", "init_std", "init_unscaled"})
OF_NATIVE = OF_LLAMA | {
    "alternating_windows", "sinks", "attention_softcap", "logit_softcap", "parallel_block", "glu_clamp",
    "glu_offset",
}  # fmt: skip


#: Experts are refused as such, so nothing is said of their router.
OF_ROUTER = frozenset(name for name in model_features.NAMES if name.startswith(ROUTER))


def native_has(job: Job) -> frozenset[str]:
    return OF_NATIVE | (OF_ROUTER if job.model.moe else frozenset())


def llama_has(job: Job) -> frozenset[str]:
    return OF_LLAMA | OF_ROUTER if hugging_face(job) else model_features.NAMES


def _experts(job: Job) -> str | None:
    count = job.model.experts
    return f"parc's model for deepspeed has no experts (`experts = {count}`)" if count else None


def _latent(job: Job) -> str | None:
    rank = job.model.kv_lora_rank
    if not rank:
        return None
    return f"parc's model for deepspeed has no latent attention (`kv_lora_rank = {rank}`)"


def _llama(job: Job) -> str | None:
    return (lacking(job) or dropped(job)) if hugging_face(job) else None


def _unfused_cap(job: Job) -> str | None:
    cap, attention = job.model.attention_softcap, job.train.attention
    if cap is None or attention == "unfused":
        return None
    return f"PyTorch's fused attention has no cap on scores (`attention_softcap = {cap:g}`)"


def _llama_names(job: Job) -> str | None:
    """Names what a checkpoint with Llama's weight names (transformers, modeling_llama.py) cannot hold."""
    if job.train.weights is None:
        return None
    model = job.model
    lacking = {
        f"norm = {model.norm}": model.norm != "rmsnorm",
        f"position = {model.position}": model.position == "learned",
        "gated = false": not model.gated,
        "parallel_block": model.parallel_block,
    }
    found = [name for name, asked in lacking.items() if asked]
    return f"`weights` are read as those of a Llama, which has no `{found[0]}`" if found else None


def _native_adapters(job: Job) -> str | None:
    if job.train.adapters is None or hugging_face(job):
        return None
    return "parc's own model for deepspeed has no adapters (`tune = lora`)"


def _adapters_in_one_run(job: Job) -> str | None:
    if job.train.adapters is None:
        return None
    if job.stages or job.previous is not None:
        return "train.py for deepspeed trains adapters in one stage"
    return (
        "train.py for deepspeed resumes adapters under the same layout alone"
        if job.elastic
        else None
    )


def _compiled_four_bits(job: Job) -> str | None:
    if job.train.tune != "qlora" or not job.train.compile:
        return None
    return "train.py for deepspeed compiles no layers with weights in 4 bits (`tune = qlora`)"


def _async(job: Job) -> str | None:
    if not job.train.async_checkpoints:
        return None
    return "train.py for deepspeed waits until a checkpoint is written (`async_checkpoints`)"


_OTHERS = "`target megatron {}` and `target torchtitan {}`"
REFUSALS = (
    *model_features.lacking("deepspeed", native_has),
    *model_features.lacking("the model of transformers", llama_has),
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
        "PAR435",
        "no-weights",
        "no checkpoint with the names of Llama's weights holds this model",
        _llama_names,
        ("train", "weights"),
        "a start from random weights",
        line="weights = none",
    ),
    Refusal(
        "PAR436",
        "fused-softcap",
        "fused attention with a cap on its scores",
        _unfused_cap,
        ("model", "attention_softcap"),
        "the same training, slower and with more memory",
        line="attention = unfused",
        block="train",
    ),
    Refusal(
        "PAR487",
        "native-adapters",
        "adapters are asked for of parc's own model",
        _native_adapters,
        ("train", "tune"),
        "a Llama, Qwen2 or Qwen3 of transformers, with peft's adapters",
        line="model = hf",
        block="target deepspeed",
    ),
    Refusal(
        "PAR489",
        "adapters-in-one-run",
        "adapters are trained in stages, or resumed under another layout",
        _adapters_in_one_run,
        ("train", "tune"),
        "all weights are trained, with four to eight times the memory",
        line="tune = full",
    ),
    Refusal(
        "PAR488",
        "compiled-four-bits",
        "layers with frozen weights in 4 bits are to be compiled",
        _compiled_four_bits,
        ("train", "compile"),
        "the same training in PyTorch's own kernels",
        line="compile = false",
    ),
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
        f"no line changes that: {_OTHERS} train experts",
    ),
    Refusal(
        "PAR432",
        "not-a-llama",
        "the model is no Llama, Qwen2 or Qwen3, but one of transformers is asked for",
        _llama,
        ("target", "deepspeed"),
        "the same training in parc's own model",
        line="model = native",
        block="target deepspeed",
    ),
    Refusal(
        "PAR421",
        "no-latent-attention",
        "the model has latent attention",
        _latent,
        ("model", "kv_lora_rank"),
        f"no line changes that: {_OTHERS} have latent attention",
    ),
)

#: Complaints of `settings`.
CODES = {
    **environment.CODES,
    **extra.CODES,
    **observation.CODES,
    **stack_problems.CODES,
}


def settings(job: Job) -> Iterator[Diagnostic]:
    """Keys of `extra`, variables, profiled steps and settings of the stack that cannot be."""
    yield from environment.problems(job, VARIABLES)
    yield from observation.problems(job, "deepspeed")
    yield from stack.problems(job)
    yield from extra.problems(job)
