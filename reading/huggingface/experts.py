"""Experts of a config.json -> settings of the `model` block."""

from __future__ import annotations

from .config import Config
from .rope import Settings


def sparse_layers(config: Config, layers: int) -> list[bool]:
    """Which layers have experts: each `decoder_sparse_step`th but those of `mlp_only_layers`
    (Qwen2MoeDecoderLayer and Qwen3MoeDecoderLayer of transformers)."""
    step = config.whole("decoder_sparse_step") or 1
    dense = config.items("mlp_only_layers") or []
    return [layer not in dense and (layer + 1) % step == 0 for layer in range(layers)]


def dense_layers(config: Config, key: str, sparse: list[bool]) -> Settings:
    """The language has dense layers before all others: as many are said, and another order is named."""
    dense = sparse.count(False)
    if any(sparse[:dense]):
        config.unsay(
            key, f"its {dense} dense layers are among those with experts, parc puts them first"
        )
    return {"dense_layers": dense}


def shared_experts(config: Config, width: int, expert_ffn: int, key: str) -> Settings:
    """Shared experts of a summed width, counted in widths of a routed one."""
    if width % expert_ffn:
        config.unsay(
            key, f"shared experts have the width of a routed one, {expert_ffn}, or a multiple"
        )
    return {"shared_experts": -(-width // expert_ffn)}
