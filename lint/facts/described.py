"""The job that launch files describe, as far as it is known, by the names of the language."""

from __future__ import annotations

import ast
import json
import math
from collections.abc import Callable, Mapping
from typing import Any

from ...backends.torchtitan.read.sources import registered
from ...dsl.job import Cluster, Job, Model, TargetSpec, Train
from .expert_layers import length_of
from .launched_job import LaunchedJob, number_of, text_of, texts_of

Values = dict[str, Any]

#: Facts that are sizes of the model.
_SIZES = ("layers", "hidden", "heads", "kv_heads")
#: What a job cannot do without.
NEEDED = {
    "model": ("layers", "hidden", "heads", "ffn", "vocab"),
    "train": ("seq_len", "global_batch", "steps"),
}


def described_model(launch: LaunchedJob) -> Values:
    """What is known of the model. Nothing is taken from a model that only looks alike."""
    found: Values = _known(**{name: launch.number(name) for name in _SIZES})
    readers: dict[str | None, Callable[[LaunchedJob], Values]] = {
        "megatron": _megatron_model,
        "deepspeed": _deepspeed_model,
        "torchtitan": _torchtitan_model,
    }
    if launch.framework in readers:
        found |= readers[launch.framework](launch)
    if found.get("kv_heads") == found.get("heads"):
        found.pop("kv_heads", None)
    return found


def _megatron_model(launch: LaunchedJob) -> Values:
    """The options that Megatron-LM builds its model from, with its defaults (GPT-2's)."""
    hidden, gated = launch.number("hidden"), launch.given("--swiglu")
    if not launch.given("--hidden-size"):
        return {}
    found: Values = {"gated": gated}
    ffn = number_of(launch.option("--ffn-hidden-size"))
    if ffn is None and hidden is not None and not launch.given("--ffn-hidden-size"):
        ffn = int((4 * hidden * 2 / 3) / 64) * 64 if gated else 4 * hidden
    vocab = launch.option("--padded-vocab-size", "--vocab-size")
    found |= _known(ffn=ffn, vocab=number_of(vocab))
    found |= _megatron_blocks(launch)
    if launch.given("--multi-latent-attention"):
        found |= _numbers(launch, _LATENT)
    if launch.number("experts"):
        found |= _megatron_experts(launch)
    return found


_LATENT = {
    "q_lora_rank": "--q-lora-rank",
    "kv_lora_rank": "--kv-lora-rank",
    "qk_nope_head_dim": "--qk-head-dim",
    "qk_rope_head_dim": "--qk-pos-emb-head-dim",
    "v_head_dim": "--v-head-dim",
}


def _megatron_blocks(launch: LaunchedJob) -> Values:
    position = text_of(launch.option("--position-embedding-type")) or "learned_absolute"
    if launch.given("--use-rotary-position-embeddings"):
        position = "rope"
    window = texts_of(launch.option("--window-size"))
    reach = window[0].strip("()").split(",")[0] if window else ""
    found: Values = {
        "norm": (
            "rmsnorm"
            if (text_of(launch.option("--normalization")) or "").lower() == "rmsnorm"
            else "layernorm"
        ),
        "position": {"rope": "rope", "none": "none"}.get(position, "learned"),
        "bias": not launch.given("--disable-bias-linear"),
        "tied": not launch.given("--untie-embeddings-and-output-weights"),
        "qk_norm": launch.given("--qk-layernorm") and not launch.given("--multi-latent-attention"),
    }
    if launch.given("--squared-relu"):
        found["activation"] = "squared_relu"
    if launch.given("--add-qkv-bias") and not found["bias"]:
        found["qkv_bias"] = True
    found |= _numbers(launch, {"head_dim": "--kv-channels", "mtp_layers": "--mtp-num-layers"})
    found |= _floats(launch, {"norm_eps": "--norm-epsilon"})
    if found["position"] == "rope":
        found |= _floats(launch, {"rope_theta": "--rotary-base"})
    if found["position"] == "learned":
        found |= _numbers(launch, {"max_positions": "--max-position-embeddings"})
    return found | ({"window": int(reach) + 1} if reach.isdecimal() else {})


def _megatron_experts(launch: LaunchedJob) -> Values:
    found: Values = {"experts": launch.number("experts")}
    found["topk"] = number_of(launch.option("--moe-router-topk")) or 2
    found |= _numbers(launch, {"expert_ffn": "--moe-ffn-hidden-size"})
    shared = number_of(launch.option("--moe-shared-expert-intermediate-size"))
    width = found.get("expert_ffn") or number_of(launch.option("--ffn-hidden-size"))
    if shared and width and shared % width == 0:
        found["shared_experts"] = shared // width
    pattern = (text_of(launch.option("--moe-layer-freq")) or "").strip("()")
    if pattern.startswith("[0]*") and length_of(pattern) is not None:
        found["dense_layers"] = int(pattern[4:].split("+")[0])
    return found


def _deepspeed_model(launch: LaunchedJob) -> Values:
    """model.json, as parc writes it for its own train.py."""
    known = Model.model_fields
    for path, text in launch.config.texts.items():
        if not path.endswith(".json"):
            continue
        try:
            values = json.loads(text)
        except ValueError:
            continue
        if isinstance(values, dict) and {"layers", "hidden", "heads"} <= values.keys():
            return {
                name: value for name, value in values.items() if name in known and name != "name"
            }
    return {}


_TORCHTITAN = {
    "ffn": "hidden_dim",
    "vocab": "vocab_size",
    "norm_eps": "norm_eps",
    "rope_theta": "rope_theta",
    "head_dim": "head_dim",
    "expert_ffn": "moe_inter_dim",
}


def _torchtitan_model(launch: LaunchedJob) -> Values:
    """The registered sizes; llama3's feed-forward width follows from three of them (model.py:332)."""
    flavor = text_of(launch.setting("toml", "model.flavor"))
    for path, text in launch.config.texts.items():
        if not path.endswith(".py") or flavor is None:
            continue
        try:
            model = registered(path, text).get(flavor)
        except (SyntaxError, ValueError):
            continue
        if model is not None:
            return _registered_values(model.arguments)
    return {}


def _registered_values(arguments: Mapping[str, Any]) -> Values:
    found = {
        name: arguments[argument]
        for name, argument in _TORCHTITAN.items()
        if isinstance(arguments.get(argument), int | float)
    }
    multiplier, multiple = arguments.get("ffn_dim_multiplier"), arguments.get("multiple_of")
    width = arguments.get("dim")
    if "ffn" not in found and isinstance(multiple, int) and isinstance(width, int):
        size = int(2 * 4 * width / 3)
        size = int(multiplier * size) if isinstance(multiplier, int | float) else size
        found["ffn"] = -(-size // multiple) * multiple
    experts = arguments.get("moe_args")
    if arguments.get("moe_enabled") and isinstance(experts, dict):
        found |= _known(
            experts=experts.get("num_experts"),
            topk=experts.get("top_k"),
            shared_experts=experts.get("num_shared_experts") or None,
        )
    return found | _known(tied=arguments.get("enable_weight_tying") or None)


def described_train(launch: LaunchedJob) -> Values:
    """What is known of the training: batch, length, precision, optimizer."""
    found = _known(**{name: launch.number(name) for name in ("seq_len", "global_batch")})
    precision = launch.value("precision")
    found |= _known(precision=precision if precision in _PRECISIONS else None)
    return found | _options(launch)


_PRECISIONS = ("bf16", "fp16", "fp8", "mxfp8")
#: Name -> option of Megatron-LM, key of a DeepSpeed config, key of torchtitan's TOML.
_COUNTS = {
    "steps": ("--train-iters", None, "training.steps"),
    "warmup": (
        "--lr-warmup-iters",
        "scheduler.params.warmup_num_steps",
        "lr_scheduler.warmup_steps",
    ),
    "checkpoint_interval": ("--save-interval", None, "checkpoint.interval"),
    "seed": ("--seed", None, "debug.seed"),
}
_RATES = {
    "learning_rate": ("--lr", "optimizer.params.lr", "optimizer.lr"),
    "min_learning_rate": ("--min-lr", None, None),
    "weight_decay": ("--weight-decay", "optimizer.params.weight_decay", "optimizer.weight_decay"),
    "beta1": ("--adam-beta1", None, "optimizer.beta1"),
    "beta2": ("--adam-beta2", None, "optimizer.beta2"),
    "clip_grad": ("--clip-grad", "gradient_clipping", "training.max_norm"),
}


def _options(launch: LaunchedJob) -> Values:
    found: Values = {}
    for name, places in (_COUNTS | _RATES).items():
        scopes = zip(("argument", "json", "toml"), places, strict=True)
        settings = (launch.setting(scope, key) for scope, key in scopes if key is not None)
        setting = next((each for each in settings if each is not None), None)
        value = number_of(setting) if name in _COUNTS else float_of(text_of(setting))
        found |= _known(**{name: value})
    if "steps" not in found:
        found |= _known(steps=number_of(launch.option("--steps")))
    schedule = text_of(launch.option("--lr-decay-style"))
    if schedule in ("cosine", "linear", "constant"):
        found["schedule"] = schedule
    samples = number_of(launch.option("--train-samples"))
    if samples and found.get("global_batch") is None and launch.number("global_batch"):
        found["steps"] = math.ceil(samples / (launch.number("global_batch") or 1))
    dropout = float_of(text_of(launch.option("--hidden-dropout")))
    return found | ({"dropout": dropout} if dropout else {})


def described_layout(launch: LaunchedJob) -> dict[str, int | str]:
    """The layout in the words of a goal."""
    degrees = ("tp", "pp", "vpp", "cp", "ep", "etp")
    found: dict[str, int | str] = _known(**{name: launch.number(name) for name in degrees})
    if (launch.number("ulysses") or 1) > 1:
        found["cp"] = launch.number("ulysses") or 1
    found |= _known(**{name: launch.number(name) for name in ("micro_batch", "zero")})
    recompute = launch.value("recompute")
    return found | ({"recompute": str(recompute)} if recompute in RECOMPUTED else {})


RECOMPUTED = ("none", "selective", "full")


def described_job(launch: LaunchedJob, cluster: Cluster) -> Job | None:
    """The whole job on a cluster, for pricing; None where something that it needs is unknown."""
    nodes, gpus = launch.number("nodes"), launch.number("gpus_per_node")
    model, train = described_model(launch), {"steps": 1, **described_train(launch)}
    lacking = [name for name in NEEDED["model"] if name not in model]
    lacking += [name for name in NEEDED["train"] if name not in train]
    if lacking or nodes is None or gpus != cluster.gpus_per_node or launch.framework is None:
        return None
    try:
        return Job(
            name="launched",
            path=launch.path,
            digest="",
            model=Model(**model),
            cluster=cluster.model_copy(update={"nodes": (nodes,)}),
            train=Train(**train),
            targets=(TargetSpec(name=launch.framework),),
        )
    except ValueError:
        return None


def float_of(text: str | None) -> float | None:
    try:
        value = float(ast.literal_eval(text)) if text else None
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return None
    return value if value is None or math.isfinite(value) else None


def _numbers(launch: LaunchedJob, options: Mapping[str, str]) -> Values:
    return _known(**{name: number_of(launch.option(option)) for name, option in options.items()})


def _floats(launch: LaunchedJob, options: Mapping[str, str]) -> Values:
    return _known(
        **{name: float_of(text_of(launch.option(option))) for name, option in options.items()}
    )


def _known(**values: Any) -> Values:
    return {name: value for name, value in values.items() if value is not None}
