"""Which layers of a config.json attend within a window -> `window` and `full_attention_every`."""

from __future__ import annotations

from .config import Config
from .rope import Settings


def windows(config: Config, layers: int, windowed: list[bool]) -> Settings:
    """`windowed` says of each layer, from the first on, whether it has the window; `layer_types` of the file
    counts before it. A window of all positions is none."""
    size = config.whole("sliding_window")
    kinds = config.items("layer_types")
    if kinds is not None:
        windowed = [kind == "sliding_attention" for kind in kinds]
        _name_others(config, kinds)
    reach = config.whole("max_position_embeddings")
    if not size or not any(windowed) or 0 < reach <= size:
        return {}
    return {"window": size, **_full_layers(config, layers, windowed)}


def alternating(layers: int, every: int) -> list[bool]:
    """All layers have the window but each `every`th, counted from 1."""
    return [bool((layer + 1) % every) for layer in range(layers)]


def _full_layers(config: Config, layers: int, windowed: list[bool]) -> Settings:
    if all(windowed):
        return {}
    every = windowed.index(False) + 1
    if windowed == alternating(layers, every):
        return {"full_attention_every": every}
    full = windowed.count(False)
    key = "layer_types" if config.has("layer_types") else "max_window_layers"
    config.unsay(
        key, f"no rhythm says which {full} of {layers} layers see all keys; here none does"
    )
    return {}


def _name_others(config: Config, kinds: list[object]) -> None:
    if others := {str(kind) for kind in kinds} - {"sliding_attention", "full_attention"}:
        names = ", ".join(sorted(others))
        config.unsay("layer_types", f"the language has no {names}; these layers see all keys")
