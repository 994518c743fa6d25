"""A model -> the matrices of its blocks as transformers holds them: name, shape, how many, of which part."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ...dsl.model import Model

Part = Literal["attention", "feed_forward", "experts", "router"]


@dataclass(frozen=True)
class Matrix:
    """`count` weights of the whole model with the same name and shape.

    Routed experts and routers are no `nn.Linear` there: those of a layer lie in one tensor, which neither
    peft's `all-linear` nor bitsandbytes takes (transformers 5, models/qwen3_moe/modeling_qwen3_moe.py).
    """

    name: str
    outputs: int
    inputs: int
    count: int
    part: Part

    @property
    def elements(self) -> int:
        """Elements of one of them."""
        return self.outputs * self.inputs

    @property
    def linear(self) -> bool:
        return self.part in ("attention", "feed_forward")


def matrices(model: Model) -> tuple[Matrix, ...]:
    """Every matrix of the blocks; the token table and the head are none of a block's."""
    dense = _feed_forward(model, model.ffn, model.layers - model.moe_layers)
    return (*_attention(model), *dense, *_experts(model))


def _attention(model: Model) -> tuple[Matrix, ...]:
    shapes = _latent(model) if model.mla else _grouped(model)
    return tuple(Matrix(name, *shape, model.layers, "attention") for name, shape in shapes.items())


def _grouped(model: Model) -> dict[str, tuple[int, int]]:
    query, key = model.heads * model.head_size, model.groups * model.head_size
    return {
        "q_proj": (query, model.hidden),
        "k_proj": (key, model.hidden),
        "v_proj": (key, model.hidden),
        "o_proj": (model.hidden, query),
    }


def _latent(model: Model) -> dict[str, tuple[int, int]]:
    query = model.heads * (model.qk_nope_head_dim + model.qk_rope_head_dim)
    values = model.heads * model.v_head_dim
    queries = (
        {"q_a_proj": (model.q_lora_rank, model.hidden), "q_b_proj": (query, model.q_lora_rank)}
        if model.q_lora_rank
        else {"q_proj": (query, model.hidden)}
    )
    return {
        **queries,
        "kv_a_proj_with_mqa": (model.kv_lora_rank + model.qk_rope_head_dim, model.hidden),
        "kv_b_proj": (model.heads * model.qk_nope_head_dim + values, model.kv_lora_rank),
        "o_proj": (model.hidden, values),
    }


def _feed_forward(model: Model, width: int, count: int) -> tuple[Matrix, ...]:
    inputs = ("gate_proj", "up_proj") if model.gated else ("up_proj",)
    if not count:
        return ()
    return (
        *(Matrix(name, width, model.hidden, count, "feed_forward") for name in inputs),
        Matrix("down_proj", model.hidden, width, count, "feed_forward"),
    )


def _experts(model: Model) -> tuple[Matrix, ...]:
    """Routed experts as one tensor a layer for the inputs and one for the outputs, router, shared experts."""
    layers = model.moe_layers
    if not layers:
        return ()
    width, rows = model.expert_width, 2 if model.gated else 1
    shared = _feed_forward(
        model, model.shared_experts * width, layers if model.shared_experts else 0
    )
    return (
        Matrix(
            "experts.gate_up_proj", model.experts * rows * width, model.hidden, layers, "experts"
        ),
        Matrix("experts.down_proj", model.experts * model.hidden, width, layers, "experts"),
        Matrix("router", model.experts, model.hidden, layers, "router"),
        *shared,
    )
