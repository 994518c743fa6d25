"""Differences between the releases of Megatron-LM that parc writes for, by `version` of the target.

Which options a release has is the table of its own parser (`released_options.csv`). This module lists
requests of a job that need a later one; `emit/` asks `has` where an older option means the same.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from ...compiler.target import Predicate, Refusal
from ...dsl.job import Job
from ..languages import bash
from ..release_check import ReleaseCheck, variable_of
from ..released_options import first_with, released_options, releases
from .options import options_of

#: Where a checkout says what it is.
_VERSION = bash.code(
    r"sed -nE 's/^(MAJOR|MINOR|PATCH) = ([0-9]+).*/\2/p' "
    '"$MEGATRON_PATH/megatron/core/package_info.py" | paste -sd.'
)
#: The tokenizer of plain token ids adds one that ends documents to the vocabulary that it is given
#: (core_v0.17.1 core/tokenizers/text/libraries/null_tokenizer.py:16).
END_ADDED = ("0.14", "0.15", "0.16", "0.17")
NEWEST = list(releases("megatron"))[-1]


def has(job: Job, option: str, word: str | None = None) -> bool:
    """Whether the job's release has an option, and takes the word as its value."""
    found = released_options("megatron", options_of(job).version).get(option)
    return found is not None and (word is None or word in found.choices)


def from_release(job: Job, release: str) -> bool:
    order = list(releases("megatron"))
    return order.index(options_of(job).version) >= order.index(release)


def release_check(job: Job) -> ReleaseCheck:
    variable = variable_of("megatron")
    return ReleaseCheck("Megatron-LM", variable, options_of(job).version, _VERSION)


@dataclass(frozen=True)
class Need:
    """A request that only some releases meet: those whose `option` takes `word`, or from `since` on.

    `asked(job)` names it in the job's words, None for a job without it; `path` is the setting that asks.
    """

    path: tuple[str, ...]
    asked: Callable[[Job], str | None]
    cure: str
    option: str = ""
    word: str | None = None
    since: str = ""

    @property
    def first(self) -> str:
        return self.since or first_with("megatron", self.option, self.word)


def _model(key: str, wanted: Callable[[Any], bool] = bool) -> Callable[[Job], str | None]:
    def asked(job: Job) -> str | None:
        value = getattr(job.model, key)
        return _said(key, value) if wanted(value) else None

    return asked


def _option(key: str, *values: object) -> Callable[[Job], str | None]:
    def asked(job: Job) -> str | None:
        value = getattr(options_of(job), key)
        return _said(key, value) if value in values else None

    return asked


def _said(key: str, value: object) -> str:
    return f"`{key} = {str(value).lower() if isinstance(value, bool) else value}`"


def _quick_gelu(job: Job) -> str | None:
    return "`activation = quick_gelu`" if job.model.activation_name == "quick_gelu" else None


def _expert_biases(job: Job) -> str | None:
    return "biases of experts (`bias`)" if job.model.moe and job.model.bias else None


def _expert_fp16(job: Job) -> str | None:
    fp16 = job.model.moe and job.train.precision == "fp16"
    return "products of experts in fp16" if fp16 else None


def _yarn(job: Job) -> str | None:
    model = job.model
    plain = model.rope_scaling == "yarn" and not model.mla
    return "`rope_scaling = yarn` beside latent attention" if plain else None


def _global_loss(job: Job) -> str | None:
    model = job.model
    whole = model.moe and model.aux_loss and model.aux_loss_over == "global_batch"
    return "`aux_loss_over = global_batch`" if whole else None


def _muon(job: Job) -> str | None:
    return "`optimizer = muon`" if job.train.optimizer == "muon" else None


def _weights(job: Job) -> str | None:
    """convert.py calls functions of these releases."""
    return None if job.train.weights is None else "conversion of `weights`"


NEEDS = (
    Need(("model", "window"), _model("window"), "window = none", "--window-size"),
    Need(
        ("model", "attention_sinks"),
        _model("attention_sinks"),
        "attention_sinks = false",
        "--softmax-type",
    ),
    Need(
        ("model", "activation"),
        _quick_gelu,
        "another activation",
        "--quick-geglu",
    ),
    Need(
        ("model", "glu_clamp"),
        _model("glu_clamp", lambda clamp: clamp is not None),
        "glu_clamp = none",
        "--activation-func-clamp-value",
    ),
    Need(("model", "glu_offset"), _model("glu_offset"), "glu_offset = 0", "--glu-linear-offset"),
    Need(
        ("model", "aux_loss_over"),
        _global_loss,
        "aux_loss_over = sequence",
        "--moe-router-load-balancing-type",
        "global_aux_loss",
    ),
    Need(
        ("model", "rope_scaling"),
        _yarn,
        "rope_scaling = none",
        "--yarn-original-max-position-embeddings",
    ),
    Need(("train", "optimizer"), _muon, "optimizer = adam", "--optimizer", "muon"),
    Need(
        ("train", "precision"),
        lambda job: "`precision = nvfp4`" if job.train.precision == "nvfp4" else None,
        "precision = mxfp8",
        "--fp4-format",
    ),
    Need(
        ("target", "megatron", "dispatcher"),
        _option("dispatcher", "hybridep"),
        "dispatcher = deepep",
        "--moe-flex-dispatcher-backend",
        "hybridep",
    ),
    # core_v0.14.0 core/transformer/transformer_config.py:1198
    Need(("model", "bias"), _expert_biases, "bias = false", since="0.15"),
    # core_v0.15.3 training/arguments.py:877, where they are grouped
    Need(("train", "precision"), _expert_fp16, "precision = bf16", since="0.16"),
    # Tried with these alone.
    Need(("train", "weights"), _weights, "leave `weights` out", since="0.19"),
    Need(
        ("target", "megatron", "attention_kernel"),
        _option("attention_kernel", "fa2", "fa3"),
        "attention_kernel = cudnn",
        "--flash-attention-version",
    ),
    Need(
        ("target", "megatron", "cuda_graph"),
        _option("cuda_graph", True),
        "cuda_graph = false",
        "--cuda-graph-impl",
        "full_iteration",
    ),
)


def _lacking(need: Need, job: Job) -> str | None:
    words, written = need.asked(job), options_of(job).version
    if words is None or from_release(job, need.first):
        return None
    how = f" ({' '.join(filter(None, (need.option, need.word)))})" if need.option else ""
    return f"megatron {written} has no {words}{how}; {need.first} is the first that has"


REFUSALS = tuple(
    Refusal(
        "PAR442",
        "not-in-release",
        "the release that the job names lacks what it asks for",
        partial(_lacking, need),
        need.path,
        f'version = "{need.first}" or later, or {need.cure}',
    )
    for need in NEEDS
)


def _asynchronous(job: Job, zero: Any) -> Any:
    late = has(job, "--async-strategy") or not job.train.async_checkpoints
    return (zero < 2) | late


def _copies(job: Job, tp: Any) -> Any:
    late = from_release(job, "0.16") or job.model.mla
    return (job.model.groups % tp == 0) | late


PREDICATES = (
    Predicate(
        "PAR444",
        "kv-heads-copied",
        "tp above kv_heads before 0.16",
        ("tp",),
        _copies,
        lambda job, tp: (
            f"kv_heads {job.model.groups} would be copied for tp {tp}, which Megatron-LM "
            f"{options_of(job).version} does not do; 0.16 is the first that does"
        ),
        "core_v0.15.3 megatron/core/transformer/transformer_config.py:778",
    ),
    Predicate(
        "PAR443",
        "fsdp-async",
        "asynchronous checkpoints of Megatron-FSDP (zero 2 and 3) before 0.17",
        ("zero",),
        _asynchronous,
        lambda job, zero: (
            f"zero {zero} is Megatron-FSDP, whose checkpoints Megatron-LM {options_of(job).version} "
            "does not write asynchronously; 0.17 is the first that does"
        ),
        "core_v0.16.1 megatron/training/checkpointing.py:651",
        stricter="Megatron-LM starts, and fails at its first checkpoint",
    ),
)
