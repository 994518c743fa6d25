"""A target -> parts of a job that its predicates look at: a model, training, options and a GPU."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from parc.dsl.hardware import Gpu
from parc.dsl.model import Model
from parc.dsl.settings import Data
from tests.support import sample_plans

SEQUENCE = 3072
DENSE = Model(name="dense", layers=8, hidden=768, heads=12, kv_heads=4, ffn=1544, vocab=32000)
EXPERTS = DENSE.model_copy(
    update={"experts": 12, "topk": 2, "expert_ffn": 194, "ffn": 1536, "heads": 24, "kv_heads": 8}
)
TIED = DENSE.model_copy(update={"tied": True})
LATENT = EXPERTS.model_copy(
    update={
        "kv_heads": None, "q_lora_rank": 64, "kv_lora_rank": 32, "qk_nope_head_dim": 32,
        "qk_rope_head_dim": 16, "v_head_dim": 32, "expert_ffn": 192,
    }
)  # fmt: skip
#: Heads that tp 8 does not divide, and nothing else that counts heads or widths.
LATENT_HEADS = LATENT.model_copy(update={"heads": 20})
#: What torchtitan's gpt_oss is made of.
SINKS = EXPERTS.model_copy(
    update={
        "attention_sinks": True, "bias": True, "window": 512, "full_attention_every": 2,
        "activation": "quick_gelu", "glu_clamp": 7.0, "glu_offset": 1.0, "expert_ffn": 192,
    }
)  # fmt: skip
#: tp 3 divides the widths of the first and not its key-value heads, and the reverse in the second.
KEYS = DENSE.model_copy(update={"heads": 24, "kv_heads": 4, "ffn": 1536})
WIDTHS = DENSE.model_copy(update={"heads": 24, "kv_heads": 12, "ffn": 1540})
TIED_WHOLE = DENSE.model_copy(update={"heads": 24, "kv_heads": 24, "ffn": 1536, "tied": True})
BIASED = EXPERTS.model_copy(update={"gated": False, "norm": "layernorm", "bias": True})
WINDOW = DENSE.model_copy(update={"window": 512})
MI355X = sample_plans.MI300X.model_copy(update={"name": "mi355x", "arch": "gfx950"})


@dataclass(frozen=True)
class Setting:
    """A job's part that some predicates look at."""

    model: Model
    train: Mapping[str, Any] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)
    gpu: Gpu = sample_plans.H100


CHATS = {"sft": True, "data": Data(parts=(("/data/chats.jsonl", 1.0),)), "tokenizer": "org/chat"}
MEGATRON = (
    Setting(DENSE),
    Setting(EXPERTS),
    Setting(TIED),
    Setting(LATENT),
    Setting(WIDTHS),
    Setting(BIASED),
    Setting(WINDOW),
    # No exchange of context parallelism carries both windows and packed conversations.
    Setting(WINDOW, {}, CHATS),
    Setting(DENSE, {}, {"cp_comm": "a2a"}),
    Setting(DENSE, {"attention": "unfused"}),
    Setting(DENSE, {"optimizer": "muon"}),
    Setting(DENSE, {"precision": "fp8"}),
    Setting(KEYS, {"precision": "fp8"}, {"fp8_recipe": "tensorwise"}),
    Setting(DENSE, {"weights": "/weights"}),
    Setting(DENSE, {"seq_len": 3074}, {"tp_overlap": True}),
    Setting(EXPERTS, {}, {"sequence_parallel": False}),
    Setting(EXPERTS, {}, {"ep_overlap": True}),
    Setting(DENSE, {}, {"dp_overlap": False}),
    Setting(DENSE, {}, {"moment_dtype": "bf16"}),
    Setting(DENSE, {"dropout": 0.1}, {"cuda_graph": True}),
    Setting(DENSE, {}, {"extra": {"no-overlap-p2p-communication": True}}),
)
DEEPSPEED = (
    Setting(DENSE),
    Setting(TIED),
    Setting(KEYS, {}, {"model": "hf"}),
    Setting(WIDTHS, {}, {"model": "hf"}),
    Setting(TIED_WHOLE, {}, {"model": "hf"}),
    Setting(DENSE, {"weights": "/weights", "tune": "qlora", "adapter_rank": 8}, {"model": "hf"}),
    Setting(DENSE, {}, {"extra": {"prescale_gradients": True}}),
    Setting(DENSE, {}, {"extra": {"gradient_predivide_factor": 2.0}}),
    Setting(DENSE, {}, {"extra": {"zero_optimization.compute_grad_norm": False}}),
    Setting(DENSE, {}, {"extra": {"gradient_allreduce_op": "sum"}}),
    Setting(DENSE, {"ramp_from": 6, "ramp_tokens": 60 * SEQUENCE}),
)
#: Of both of its forms, TOML and Python.
TORCHTITAN = (
    Setting(DENSE),
    Setting(EXPERTS),
    Setting(TIED),
    Setting(KEYS),
    Setting(WIDTHS),
    Setting(DENSE, {"seq_len": 3074}),
    Setting(DENSE, {"compile": True}, {"tp_overlap": True}),
)
TORCHTITAN_TOML = (
    Setting(LATENT),
    Setting(LATENT_HEADS),
    Setting(EXPERTS, {"precision": "fp8"}),
    Setting(DENSE, {"precision": "mxfp8", "compile": True}, gpu=MI355X),
    Setting(EXPERTS, {}, {"validation": Data()}),
    Setting(SINKS),
    Setting(EXPERTS, {}, {"attention_kernel": "flex"}),
)
TORCHTITAN_PYTHON = (
    Setting(DENSE, {}, {"attention_kernel": "varlen"}),
    Setting(DENSE, {}, {"cuda_graph": True}),
    Setting(EXPERTS, {}, {"cuda_graph": True}),
)


def settings_of(name: str) -> list[Setting]:
    """Those of a target, whose name may end in the version to write for."""
    target, _, version = name.partition("-")
    found = {
        "megatron": MEGATRON,
        "deepspeed": DEEPSPEED,
        "torchtitan": TORCHTITAN + (TORCHTITAN_PYTHON if version == "0.3" else TORCHTITAN_TOML),
    }[target]
    stated = {"version": version} if version else {}
    return [replace(each, options={**each.options, **stated}) for each in found]
