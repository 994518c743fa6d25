"""A YAML of llm-foundry or of OLMo -> the job's facts. FSDP alone divides a model there, or nothing does.

mosaicml/llm-foundry 0.22, scripts/train/yamls and llmfoundry/command_utils/train.py; allenai/OLMo 0.6,
olmo/config.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from ...reading.bash.values import Word
from ...reading.facts import Fact, LaunchConfig, Unknown, Value
from ...reading.yaml_settings import Scalar
from ..yaml_jobs import yaml_job

#: A key that both have, and no other trainer's file.
_TELLING = re.compile(r"^(?:\s{2})?device_train_microbatch_size\s*:", re.MULTILINE)
#: The block of a BERT of MosaicML's examples, whose keys are those of Hugging Face.
_BERT = "model.model_config"
#: Fact -> its keys: those of llm-foundry, then OLMo's, then a BERT's.
KEYS = {
    "seq_len": ("max_seq_len", "model.max_sequence_length"),
    "layers": ("model.n_layers", "model.config_overrides.n_layers", f"{_BERT}.num_hidden_layers"),
    "hidden": ("model.d_model", "model.config_overrides.d_model", f"{_BERT}.hidden_size"),
    "heads": ("model.n_heads", "model.config_overrides.n_heads", f"{_BERT}.num_attention_heads"),
    "kv_heads": (
        "model.attn_config.kv_n_heads",
        "model.n_kv_heads",
        f"{_BERT}.num_key_value_heads",
    ),
    "experts": ("model.ffn_config.moe_num_experts", "model.moe_num_experts"),
    "global_batch": ("global_train_batch_size",),
    "micro_batch": ("device_train_microbatch_size",),
}
_PRECISIONS = {
    "amp_bf16": "bf16", "amp_fp16": "fp16", "amp_fp8": "bf16+fp8", "fp32": "fp32",
}  # fmt: skip
#: As a ZeRO stage; a hybrid one shards within a node.
_STRATEGIES = {
    "full_shard": 3, "hybrid_shard": 3, "shard_grad_op": 2, "_hybrid_shard_zero2": 2, "no_shard": 0,
}  # fmt: skip
_STRATEGY = ("fsdp_config.sharding_strategy", "fsdp.sharding_strategy")
_AGAIN = ("fsdp_config.activation_checkpointing", "activation_checkpointing")
#: Blocks that divide a model in another way than FSDP.
_TENSOR = ("tp_config.", "parallelism_config.")
#: The block of a run on MosaicML's platform that the trainer is given.
PLATFORM = "parameters."
REFERENCE = re.compile(r"\$\{([\w.]+)\}")
Answer = tuple[str, Value | Unknown, Word]


def is_config(text: str) -> bool:
    return _TELLING.search(text) is not None


def alone(path: str, text: str, texts: Mapping[str, str]) -> Iterator[LaunchConfig]:
    """The job of such a file; nothing for a YAML of another kind."""
    if is_config(text):
        yield yaml_job(path, text, "foundry", _placed)


def _placed(scalars: Mapping[str, Scalar]) -> Iterator[Fact]:
    for name, value, place in _facts(_run(scalars)):
        yield Fact(name, value, place.path, place.line, place.column)


def _run(scalars: Mapping[str, Scalar]) -> Mapping[str, Scalar]:
    """The trainer's keys, without the block in which MosaicML's platform has them."""
    if f"{PLATFORM}device_train_microbatch_size" not in scalars:
        return scalars
    return {name.removeprefix(PLATFORM): scalar for name, scalar in scalars.items()}


def _facts(scalars: Mapping[str, Scalar]) -> Iterator[Answer]:
    values: dict[str, Answer] = {}
    for name, keys in KEYS.items():
        key = next((key for key in keys if key in scalars), None)
        if key is not None and (value := _number(scalars, key)) is not None:
            values[name] = (name, value, scalars[key].word)
    if "heads" in values:
        values.setdefault("kv_heads", ("kv_heads", _kv_heads(scalars, values), values["heads"][2]))
    yield from values.values()
    gpus = scalars.get("compute.gpus")
    if gpus is not None and isinstance(gpus.value, int):
        yield "gpus", gpus.value, gpus.word
        yield "dp", gpus.value, gpus.word
    if not any(name.startswith(_TENSOR) for name in scalars):
        start = next(iter(scalars.values())).word
        yield from ((name, 1, start) for name in ("tp", "pp", "cp"))
    yield from _worded(scalars)


def _kv_heads(scalars: Mapping[str, Scalar], values: Mapping[str, Answer]) -> Value | Unknown:
    """As many as query heads, unless attention of one head or of groups is asked for without their number."""
    one = scalars.get("model.multi_query_attention")
    kind = scalars.get("model.attn_config.attn_type")
    if (one is not None and one.value is True) or (kind and kind.text == "multiquery_attention"):
        return 1
    if kind and kind.text == "grouped_query_attention":
        return Unknown("the groups of its attention are not given")
    return values["heads"][1]


def _number(scalars: Mapping[str, Scalar], key: str) -> Value | Unknown | None:
    """A whole number, that of the key which it refers to, or why it is none; None for null."""
    scalar = scalars[key]
    for _ in range(4):
        reference = REFERENCE.fullmatch(scalar.text)
        if reference is None or reference[1] not in scalars:
            break
        scalar = scalars[reference[1]]
    value = scalar.value
    if value is None or (isinstance(value, int) and not isinstance(value, bool)):
        return value
    return (
        value if isinstance(value, Unknown) else Unknown(f"`{scalar.text}` is found at the start")
    )


def _worded(scalars: Mapping[str, Scalar]) -> Iterator[Answer]:
    precision = scalars.get("precision")
    if precision is not None and (told := _PRECISIONS.get(precision.text)) is not None:
        yield "precision", told, precision.word
    strategy = next((scalars[key] for key in _STRATEGY if key in scalars), None)
    if strategy is not None:
        stage = _STRATEGIES.get(strategy.text.lower())
        unknown = Unknown(f"`{strategy.text}` is not a known strategy")
        yield "zero", unknown if stage is None else stage, strategy.word
    elif any(name.startswith("fsdp.") for name in scalars):
        start = next(scalar for name, scalar in scalars.items() if name.startswith("fsdp."))
        yield "zero", 3, start.word
    again = next((scalars[key] for key in _AGAIN if key in scalars), None)
    if again is not None and (isinstance(again.value, bool) or again.text == "whole_layer"):
        yield "recompute", "full" if again.value else "none", again.word
