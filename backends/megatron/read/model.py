"""Megatron-LM's options and their defaults -> values of the `model` block."""

from pathlib import PurePath
from typing import Any

from ....reading.facts import LaunchConfig, number_of, text_of, texts_of
from ...described import known, rate_of
from ...release_check import written_release
from ...run_folder import FILE, settings_in
from ..emit.experts import BALANCING
from ..option_groups import LATENT, VOCAB_MULTIPLE
from ..option_rows import ROWS
from ..releases import END_ADDED
from .expert_layers import entries

Values = dict[str, Any]


_LATENT = ("q_lora_rank", "kv_lora_rank", "qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim")
_BLOCK = ("norm_eps", "init_std", "glu_offset", "glu_clamp", "mtp_layers")
_ACTIVATIONS = {"--squared-relu": "squared_relu", "--quick-geglu": "quick_gelu"}
_ROUTER = ("router_groups", "router_limited_groups", "router_scale", "z_loss")
_LLAMA3 = {"rope_scaling": "llama3", "rope_factor": 8.0, "rope_original_positions": 8192}
_YARN = ("rope_beta_fast", "rope_beta_slow", "rope_mscale", "rope_mscale_all_dim")
#: Positions before scaling where nothing says them (argument_utils.py:408, MLATransformerConfig).
_ORIGINAL_POSITIONS = 4096


def default_ffn(hidden: int, gated: bool) -> int:
    """The feed-forward width without --ffn-hidden-size (arguments.py: 4 hidden, or 8/3 with SwiGLU)."""
    return int((4 * hidden * 2 / 3) / 64) * 64 if gated else 4 * hidden


def _vocabulary(config: LaunchConfig) -> int | None:
    padded, plain = (
        number_of(config.option(name)) for name in ("--padded-vocab-size", "--vocab-size")
    )
    adds = text_of(config.option("--tokenizer-type")) == "NullTokenizer"
    if padded is None and plain is not None and adds:
        return plain + (written_release(config, "megatron") in END_ADDED)
    return plain if padded is None else _unpadded(config, padded)


def _unpadded(config: LaunchConfig, padded: int) -> int:
    """The vocabulary of the run.json beside an emitted script, where that is what was padded."""
    multiple = VOCAB_MULTIPLE * (config.number("tp") or 1)
    for path, text in config.texts.items():
        if PurePath(path).name == FILE:
            said = settings_in(text).get("model.vocab")
            if isinstance(said, int) and padded - multiple < said <= padded:
                return said
    return padded


def model(config: LaunchConfig) -> Values:
    """The options that Megatron-LM builds its model from, with its defaults (GPT-2's)."""
    if not config.given("--hidden-size"):
        return {}
    hidden, swiglu = config.number("hidden"), config.given("--swiglu")
    ffn = number_of(config.option("--ffn-hidden-size"))
    if ffn is None and hidden is not None and not config.given("--ffn-hidden-size"):
        ffn = default_ffn(hidden, swiglu)
    vocab = _vocabulary(config)
    gated = swiglu or config.given("--quick-geglu")
    found = {"gated": gated} | known(ffn=ffn, vocab=vocab) | _blocks(config) | _positions(config)
    found |= _attention(config)
    if config.number("experts"):
        found |= _experts(config) | _router(config, found.get("topk", 2))
    return found


def _read(config: LaunchConfig, *settings: str) -> Values:
    return ROWS.values(config, "model", settings)


def _blocks(config: LaunchConfig) -> Values:
    norm = (text_of(config.option("--normalization")) or "").lower()
    found: Values = {
        "norm": "rmsnorm" if norm == "rmsnorm" else "layernorm",
        "bias": not config.given("--disable-bias-linear"),
        "tied": not config.given("--untie-embeddings-and-output-weights"),
    }
    for option, activation in _ACTIVATIONS.items():
        if config.given(option):
            found["activation"] = activation
    if config.given("--add-qkv-bias") and not found["bias"]:
        found["qkv_bias"] = True
    found |= _read(config, *_BLOCK)
    if found.get("mtp_layers"):
        found |= _read(config, "mtp_weight")
    return found


def _attention(config: LaunchConfig) -> Values:
    latent = config.given(LATENT)
    found: Values = {"qk_norm": config.given("--qk-layernorm") and not latent}
    found |= _read(config, *(_LATENT if latent else ("head_dim",)))
    if text_of(config.option("--softmax-type")) == "learnable":
        found["attention_sinks"] = True
    window = texts_of(config.option("--window-size"))
    reach = window[0].strip("()").split(",")[0] if window else ""
    if reach.isdecimal():
        found |= {"window": int(reach) + 1} | known(full_attention_every=_full_every(config))
    return found


def _full_every(config: LaunchConfig) -> int | None:
    """n, if every n-th layer has full attention: from a number, or a list of 1 (window) and 0 (full)."""
    option = config.option("--window-attn-skip-freq")
    pattern = entries((text_of(option) or "").strip("()"))
    if pattern is None or 0 not in pattern:
        return number_of(option)
    every = pattern.index(0) + 1
    regular = [int(layer % every > 0) for layer in range(1, len(pattern) + 1)]
    return every if pattern == regular else None


def _positions(config: LaunchConfig) -> Values:
    kind = text_of(config.option("--position-embedding-type")) or "learned_absolute"
    if config.given("--use-rotary-position-embeddings"):
        kind = "rope"
    position = {"rope": "rope", "yarn": "rope", "none": "none"}.get(kind, "learned")
    if position == "rope":
        found = _read(config, "rope_theta") | _further(config)
        return {"position": position} | found | _scaling(config, kind)
    if position == "learned":
        return {"position": position} | _read(config, "max_positions")
    return {"position": position}


def _further(config: LaunchConfig) -> Values:
    """Positions that are said for longer sequences than those of the run; nothing of the model depends on
    them where none are learned."""
    found = _read(config, "max_positions")
    return found if found.get("max_positions", 0) > (config.number("seq_len") or 0) else {}


def _scaling(config: LaunchConfig, kind: str) -> Values:
    """Latent attention takes yarn unless --rope-type says otherwise; by a factor of 1 it scales nothing."""
    latent = config.given(LATENT)
    factor = rate_of(config.option("--rotary-scaling-factor")) or 1.0
    if latent:
        plain = text_of(config.option("--rope-type")) == "rope" or factor == 1
        return {} if plain else _yarn(config, factor)
    if kind == "yarn":
        return _yarn(config, factor)
    if config.given("--use-rope-scaling"):
        return _LLAMA3 | {"rope_factor": rate_of(config.option("--rope-scaling-factor")) or 8.0}
    divided = rate_of(config.option("--rotary-seq-len-interpolation-factor"))
    return {"rope_scaling": "linear", "rope_factor": divided} if divided else {}


def _yarn(config: LaunchConfig, factor: float) -> Values:
    original = number_of(config.option("--yarn-original-max-position-embeddings"))
    found: Values = {
        "rope_scaling": "yarn",
        "rope_factor": factor,
        "rope_original_positions": original or _ORIGINAL_POSITIONS,
    }
    if config.given("--no-yarn-correction-range-round-to-int"):
        found["rope_truncate"] = False
    return found | _read(config, *_YARN)


def _experts(config: LaunchConfig) -> Values:
    found: Values = {"experts": config.number("experts")}
    found["topk"] = number_of(config.option("--moe-router-topk")) or 2
    found |= _read(config, "expert_ffn")
    shared = number_of(config.option("--moe-shared-expert-intermediate-size"))
    width = found.get("expert_ffn") or number_of(config.option("--ffn-hidden-size"))
    if shared and width and shared % width == 0:
        found["shared_experts"] = shared // width
    pattern = entries((text_of(config.option("--moe-layer-freq")) or "").strip("()"))
    if pattern and pattern == sorted(pattern) and 0 in pattern:
        found["dense_layers"] = pattern.count(0)
    return found


def _router(config: LaunchConfig, topk: int) -> Values:
    """Scores are divided by their sum, but by softmax before the choice and for one sigmoid score."""
    sigmoid = text_of(config.option("--moe-router-score-function")) == "sigmoid"
    found: Values = {"router_score": "sigmoid"} if sigmoid else {}
    if topk == 1 if sigmoid else config.given("--moe-router-pre-softmax"):
        found["router_norm"] = False
    found |= _read(config, *_ROUTER)
    if config.given("--moe-router-enable-expert-bias"):
        rate = rate_of(config.option("--moe-router-bias-update-rate"))
        found["router_bias_rate"] = 1e-3 if rate is None else rate
    return found | _balance(config)


def _balance(config: LaunchConfig) -> Values:
    weight = rate_of(config.option("--moe-aux-loss-coeff"))
    kind = text_of(config.option("--moe-router-load-balancing-type")) or "aux_loss"
    over = {name: scope for scope, name in BALANCING.items()}.get(kind)
    if not weight or over is None:
        return {}
    return {"aux_loss": weight, "aux_loss_over": over}
