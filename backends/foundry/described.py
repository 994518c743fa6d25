"""A YAML of llm-foundry or of OLMo -> values of the `model` and `train` blocks beside its sizes.

mosaicml/llm-foundry 0.6 llmfoundry/models/mpt/configuration_mpt.py and layers/ffn.py; allenai/OLMo 0.6
olmo/config.py and olmo/model.py. Defaults are those of the two models; ALiBi, which has no weights, is no
position.
"""

import re

from ...reading.facts import LaunchConfig, Setting, Unknown, number_of, text_of
from ..described import known, rate_of
from ..reader import Values
from .jobs import PLATFORM, REFERENCE

#: Keys that only OLMo's model block has.
_OLMO = ("max_sequence_length", "mlp_ratio", "mlp_hidden_size", "activation_type", "block_type")
_MPT = "mpt_causal_lm"
_MPT_VOCAB, _OLMO_VOCAB = 50368, 50257
#: 4800ba or 4800 steps, 2e12T tokens; epochs are counted in data that is not here.
_DURATION = re.compile(r"([\d_]+(?:\.\d+)?(?:e\+?\d+)?)(ba|t|tok)?", re.IGNORECASE)
_TRAIN = {
    "learning_rate": ("optimizer.lr", "optimizer.learning_rate"),
    "weight_decay": ("optimizer.weight_decay",),
    "clip_grad": ("algorithms.gradient_clipping.clipping_threshold", "max_grad_norm"),
}


def model(config: LaunchConfig) -> Values:
    """Settings of a model that the file describes; none of one that it takes from elsewhere."""
    if text_of(_setting(config, "model.name")) == _MPT:
        return _mpt(config)
    if any(_setting(config, f"model.{key}") is not None for key in _OLMO):
        return _olmo(config)
    return {}


def train(config: LaunchConfig) -> Values:
    found: Values = {name: _rate(config, *keys) for name, keys in _TRAIN.items()}
    seed = _count(config, "seed", "global_seed")
    return known(**found, steps=_steps(config), seed=seed)


def _mpt(config: LaunchConfig) -> Values:
    """Plain blocks with layer norm, biases, learned positions and tied embeddings, unless told otherwise."""
    hidden, ratio = config.number("hidden"), _rate(config, "model.expansion_ratio") or 4
    ffn = _count(config, "model.ffn_config.ffn_hidden_size")
    alibi, rope = (_true(config, f"model.attn_config.{name}") for name in ("alibi", "rope"))
    learned = not (alibi or rope) and _true(config, "model.learned_pos_emb", True)
    norm = text_of(_setting(config, "model.norm_type")) or "layernorm"
    gated = (text_of(_setting(config, "model.ffn_config.ffn_type")) or "").endswith("glu")
    activation = text_of(_setting(config, "model.ffn_config.ffn_act_fn.name")) or "gelu"
    return known(
        ffn=ffn or (int(ratio * hidden) if hidden else None),
        vocab=_count(config, "model.vocab_size") or _MPT_VOCAB,
        gated=gated,
        activation=None if activation == ("silu" if gated else "gelu") else activation,
        norm="rmsnorm" if "rms" in norm else "layernorm",
        position="rope" if rope else "learned" if learned else "none",
        rope_theta=_rate(config, "model.attn_config.rope_theta") if rope else None,
        bias=not _true(config, "model.no_bias"),
        tied=_true(config, "model.tie_word_embeddings", True),
        qk_norm=_true(config, "model.attn_config.qk_ln"),
    )


def _olmo(config: LaunchConfig) -> Values:
    """`mlp_hidden_size` is what both halves of a gated block have together."""
    hidden, ratio = config.number("hidden"), _count(config, "model.mlp_ratio") or 4
    activation = text_of(_setting(config, "model.activation_type")) or "swiglu"
    whole = _count(config, "model.mlp_hidden_size") or (ratio * hidden if hidden else None)
    gated, rope = activation == "swiglu", _true(config, "model.rope")
    norm = text_of(_setting(config, "model.layer_norm_type")) or "default"
    position = "rope" if rope else "none" if _true(config, "model.alibi") else "learned"
    return known(
        ffn=whole // 2 if whole and gated else whole,
        vocab=_count(config, "model.vocab_size") or _OLMO_VOCAB,
        gated=gated,
        activation="relu" if activation == "relu" else None,
        parallel_block=text_of(_setting(config, "model.block_type")) == "parallel" or None,
        norm="rmsnorm" if norm == "rms" else "layernorm",
        position=position,
        rope_theta=_rate(config, "model.rope_theta") if rope else None,
        bias=_true(config, "model.include_bias", True),
        tied=_true(config, "model.weight_tying", True),
        qk_norm=_true(config, "model.attention_layer_norm"),
    )


def _steps(config: LaunchConfig) -> int | None:
    """Steps, or tokens over those of a step."""
    match = _DURATION.fullmatch(text_of(_setting(config, "max_duration")) or "")
    if match is None:
        return None
    amount, unit = float(match[1].replace("_", "")), (match[2] or "ba").lower()
    if unit == "ba":
        return int(amount) or None
    batch, length = config.number("global_batch"), config.number("seq_len")
    return int(amount // (batch * length)) or None if batch and length else None


def _setting(config: LaunchConfig, *keys: str) -> Setting | None:
    """A key's value, or that of the key which it refers to; on MosaicML's platform all stand in a block."""
    names = [name for key in keys for name in (key, f"{PLATFORM}{key}")]
    found = config.setting("yaml", *names)
    for _ in range(4):
        reference = REFERENCE.fullmatch(text_of(found) or "")
        if reference is None:
            return found
        found = config.setting("yaml", reference[1], f"{PLATFORM}{reference[1]}")
    return None


def _count(config: LaunchConfig, *keys: str) -> int | None:
    return number_of(_setting(config, *keys))


def _rate(config: LaunchConfig, *keys: str) -> float | None:
    return rate_of(_setting(config, *keys))


def _true(config: LaunchConfig, key: str, default: bool = False) -> bool:
    setting = _setting(config, key)
    if setting is None or isinstance(setting.values[0], Unknown):
        return default
    return setting.values[0] is True
