"""Rotary positions of a config.json, in the keys of transformers 4 and 5 -> settings of the `model` block."""

from __future__ import annotations

import math
from collections.abc import Callable

from .config import Config

Settings = dict[str, int | float | bool | str]


def rope(config: Config) -> Settings:
    """Base and scaling. transformers 4 has `rope_theta` and `rope_scaling`; 5 has both in `rope_parameters`,
    by kind of layer where kinds differ (modeling_rope_utils.py, RotaryEmbeddingConfigMixin)."""
    scaling = config.inside("rope_scaling")
    parameters = None if scaling else config.inside("rope_parameters")
    if parameters is not None and "full_attention" in parameters.values:
        parameters = _of_full_attention(parameters)
    theta = _theta(config, parameters)
    _partial(config, parameters)
    return {"rope_theta": theta, **_scaled(config, parameters or scaling)}


def _of_full_attention(parameters: Config) -> Config | None:
    full, window = parameters.inside("full_attention"), parameters.inside("sliding_attention")
    if full and window and window.values != full.values:
        window.unsay(
            " ".join(window.values), "layers with a window have the positions of the others"
        )
    elif window:
        window.read(*window.values)
    return full


def _theta(config: Config, parameters: Config | None) -> float:
    if parameters is not None and parameters.has("rope_theta"):
        config.read("rope_theta", "rotary_emb_base")
        return parameters.number("rope_theta")
    return config.number("rope_theta", "rotary_emb_base")


def _partial(config: Config, parameters: Config | None) -> None:
    """`partial_rotary_factor`, or `rotary_pct` of GPT-NeoX: parc's models rotate whole heads."""
    for place in (parameters, config):
        for key in ("partial_rotary_factor", "rotary_pct"):
            if place is not None and place.number(key) not in (0.0, 1.0):
                place.unsay(key, "heads are rotated whole")
                return


def _scaled(config: Config, scaling: Config | None) -> Settings:
    if scaling is None:
        return {}
    kind = scaling.word("rope_type", "type") or "default"
    if kind == "default":
        return {}
    if kind not in _KINDS:
        scaling.unsay(
            " ".join(scaling.values), f"the language has no `{kind}` scaling of positions"
        )
        return {}
    return _KINDS[kind](config, scaling)


def _linear(config: Config, scaling: Config) -> Settings:
    return {"rope_scaling": "linear", "rope_factor": scaling.number("factor")}


def _llama3(config: Config, scaling: Config) -> Settings:
    low, high = scaling.number("low_freq_factor"), scaling.number("high_freq_factor")
    original = _original(config, scaling)
    if low >= high:
        why = "the language blends between two frequencies, the first below the second"
        scaling.unsay(" ".join(scaling.values), why)
        return {}
    return {
        "rope_scaling": "llama3",
        "rope_factor": scaling.number("factor"),
        "rope_original_positions": original,
        "rope_low_freq": low,
        "rope_high_freq": high,
    }


def _yarn(config: Config, scaling: Config) -> Settings:
    """YaRN's settings. Missing keys get the language's defaults, transformers' own; `mscale` counts
    where both are given (modeling_rope_utils.py:_compute_yarn_parameters)."""
    found: Settings = {
        "rope_scaling": "yarn",
        "rope_factor": scaling.number("factor"),
        "rope_original_positions": _original(config, scaling),
    }
    for key, name in (("beta_fast", "rope_beta_fast"), ("beta_slow", "rope_beta_slow")):
        if scaling.has(key):
            found[name] = scaling.number(key)
    if scaling.has("truncate"):
        found["rope_truncate"] = scaling.flag("truncate")
    if scaling.number("mscale") and scaling.number("mscale_all_dim"):
        found["rope_mscale"] = scaling.number("mscale")
        found["rope_mscale_all_dim"] = scaling.number("mscale_all_dim")
    _attention_factor(scaling)
    return found


def _attention_factor(scaling: Config) -> None:
    """A factor on rotated parts in place of 0.1 ln(factor) + 1; only another one is named."""
    given = scaling.number("attention_factor")
    if given and abs(given - (0.1 * math.log(max(1.0, scaling.number("factor"))) + 1)) > 1e-6:
        scaling.unsay("attention_factor", "rotated parts are multiplied by 0.1 ln(factor) + 1")


def _original(config: Config, scaling: Config) -> int:
    """Where it is left out it is the longest sequence (modeling_rope_utils.py:standardize_rope_params)."""
    if scaling.has("original_max_position_embeddings"):
        return scaling.size("original_max_position_embeddings")
    return config.size("original_max_position_embeddings", "max_position_embeddings")


_KINDS: dict[str, Callable[[Config, Config], Settings]] = {
    "linear": _linear,
    "llama3": _llama3,
    "yarn": _yarn,
}
