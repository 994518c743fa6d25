"""Megatron-LM's options and their defaults -> values of the `model` and `train` blocks."""

import math
from typing import Any

from ....reading.facts import LaunchConfig, number_of, text_of, texts_of
from ...described import Places, counts, known, rate_of, rates
from .expert_layers import length_of

Values = dict[str, Any]


def _options(**names: str) -> Places:
    return {name: ("argument", option) for name, option in names.items()}


_LATENT = _options(
    q_lora_rank="--q-lora-rank",
    kv_lora_rank="--kv-lora-rank",
    qk_nope_head_dim="--qk-head-dim",
    qk_rope_head_dim="--qk-pos-emb-head-dim",
    v_head_dim="--v-head-dim",
)
_COUNTS = _options(
    steps="--train-iters",
    warmup="--lr-warmup-iters",
    checkpoint_interval="--save-interval",
    seed="--seed",
)
_RATES = _options(
    learning_rate="--lr",
    min_learning_rate="--min-lr",
    weight_decay="--weight-decay",
    beta1="--adam-beta1",
    beta2="--adam-beta2",
    clip_grad="--clip-grad",
)


def default_ffn(hidden: int, gated: bool) -> int:
    """The feed-forward width without --ffn-hidden-size (arguments.py: 4 hidden, or 8/3 with SwiGLU)."""
    return int((4 * hidden * 2 / 3) / 64) * 64 if gated else 4 * hidden


def model(config: LaunchConfig) -> Values:
    """The options that Megatron-LM builds its model from, with its defaults (GPT-2's)."""
    if not config.given("--hidden-size"):
        return {}
    hidden, gated = config.number("hidden"), config.given("--swiglu")
    ffn = number_of(config.option("--ffn-hidden-size"))
    if ffn is None and hidden is not None and not config.given("--ffn-hidden-size"):
        ffn = default_ffn(hidden, gated)
    vocab = number_of(config.option("--padded-vocab-size", "--vocab-size"))
    found = {"gated": gated} | known(ffn=ffn, vocab=vocab) | _blocks(config)
    if config.given("--multi-latent-attention"):
        found |= counts(config, _LATENT)
    if config.number("experts"):
        found |= _experts(config)
    return found


def _blocks(config: LaunchConfig) -> Values:
    position = text_of(config.option("--position-embedding-type")) or "learned_absolute"
    if config.given("--use-rotary-position-embeddings"):
        position = "rope"
    window = texts_of(config.option("--window-size"))
    reach = window[0].strip("()").split(",")[0] if window else ""
    norm = (text_of(config.option("--normalization")) or "").lower()
    latent = config.given("--multi-latent-attention")
    found: Values = {
        "norm": "rmsnorm" if norm == "rmsnorm" else "layernorm",
        "position": {"rope": "rope", "none": "none"}.get(position, "learned"),
        "bias": not config.given("--disable-bias-linear"),
        "tied": not config.given("--untie-embeddings-and-output-weights"),
        "qk_norm": config.given("--qk-layernorm") and not latent,
    }
    if config.given("--squared-relu"):
        found["activation"] = "squared_relu"
    if config.given("--add-qkv-bias") and not found["bias"]:
        found["qkv_bias"] = True
    found |= counts(config, _options(head_dim="--kv-channels", mtp_layers="--mtp-num-layers"))
    found |= rates(config, _options(norm_eps="--norm-epsilon"))
    if found["position"] == "rope":
        found |= rates(config, _options(rope_theta="--rotary-base"))
    if found["position"] == "learned":
        found |= counts(config, _options(max_positions="--max-position-embeddings"))
    return found | ({"window": int(reach) + 1} if reach.isdecimal() else {})


def _experts(config: LaunchConfig) -> Values:
    found: Values = {"experts": config.number("experts")}
    found["topk"] = number_of(config.option("--moe-router-topk")) or 2
    found |= counts(config, _options(expert_ffn="--moe-ffn-hidden-size"))
    shared = number_of(config.option("--moe-shared-expert-intermediate-size"))
    width = found.get("expert_ffn") or number_of(config.option("--ffn-hidden-size"))
    if shared and width and shared % width == 0:
        found["shared_experts"] = shared // width
    pattern = (text_of(config.option("--moe-layer-freq")) or "").strip("()")
    if pattern.startswith("[0]*") and length_of(pattern) is not None:
        found["dense_layers"] = int(pattern[4:].split("+")[0])
    return found


def train(config: LaunchConfig) -> Values:
    """Options of Megatron-LM's training; other programs that take the same names mean the same."""
    found = counts(config, _COUNTS) | rates(config, _RATES)
    schedule = text_of(config.option("--lr-decay-style"))
    if schedule in ("cosine", "linear", "constant"):
        found["schedule"] = schedule
    samples, batch = number_of(config.option("--train-samples")), config.number("global_batch")
    if samples and batch:
        found["steps"] = math.ceil(samples / batch)
    dropout = rate_of(config.option("--hidden-dropout"))
    return found | ({"dropout": dropout} if dropout else {})
