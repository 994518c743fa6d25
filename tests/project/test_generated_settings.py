"""The generated jobs of a whole acceptance run meet every setting that a target takes, at least 20 times."""

from __future__ import annotations

import re
from collections import Counter
from functools import cache

import pytest

from parc.backends import BACKENDS
from parc.dsl.schema import CLASSES, setting_types
from tests.acceptance.support.job_generator import job_text
from tests.acceptance.support.sample import WHOLE_JOBS

LEAST = 20
PRECISIONS = ("bf16", "fp16", "fp8", "mxfp8", "nvfp4")
#: Comes with the GPU or the nodes of std that a job names, or from a database that a lone SLURM has not, or
#: is told by the runs of a site, which change no file, or is of a stage (tests/acceptance/test_runs_*.py), or
#: of adapters beside a checkpoint (tests/acceptance/test_adapters_deepspeed.py).
ELSEWHERE = {
    "gpu.vendor", "gpu.arch", "cluster.nvlink_mesh", "launch.qos", "launch.reservation",
    "gpu.measured", "gpu.step_spread", "gpu.before", "cluster.measured", "cluster.before", "cluster.env",
    "train.carry", "train.tune", "train.adapter_rank", "train.adapter_alpha", "train.adapter_targets",
    "train.adapter_dropout",
}  # fmt: skip
_ROUTER = {
    "router_score", "router_norm", "router_scale", "router_groups", "router_limited_groups",
    "router_bias_rate",
}  # fmt: skip
_LOSSES = {"aux_loss", "aux_loss_over", "z_loss", "mtp_layers", "mtp_weight"}
_EXPERTS = {"experts", "topk", "expert_ffn", "shared_experts", "dense_layers"}
_LATENT = {"q_lora_rank", "kv_lora_rank", "qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim"}
_CAPS = {"attention_softcap", "logit_softcap", "parallel_block"}
_TITAN = _LOSSES | _CAPS | {"gated", "norm", "position", "max_positions", "qkv_bias"}
#: Settings of `model` of which each target refuses all but one value.
ONE_VALUE = {
    "megatron": _CAPS | {"init_scaled"},
    "deepspeed": _EXPERTS | _LATENT | _ROUTER | _LOSSES,
    "deepspeed-hf": _EXPERTS
    | _LATENT
    | _ROUTER
    | _LOSSES
    | _CAPS
    | {"gated", "norm", "position", "qkv_bias", "qk_norm", "activation", "glu_clamp", "glu_offset"}
    | {"window", "full_attention_every", "attention_sinks"},
    "torchtitan": _TITAN,
    "torchtitan-0.3": _TITAN
    | _LATENT
    | {"activation", "glu_clamp", "glu_offset", "bias", "window", "full_attention_every"}
    | {"attention_sinks", "dense_layers", "rope_mscale_all_dim", "rope_truncate"}
    | {"rope_mscale", "rope_beta_fast", "rope_beta_slow"},
}
#: The same of `train` and of the target block; `version` and `model` are what a row of this table is of.
ONE_VALUE_BESIDE = {
    "megatron": {"train.compile", "target.path", "target.version"},
    "deepspeed": {
        "train.async_checkpoints",
        "target.model",
        "target.version",
        "target.norm_kernel",
        "target.tp_overlap",
    },
    "deepspeed-hf": {"train.async_checkpoints", "target.version"},
    "torchtitan": {"target.version", "target.cuda_graph"},
    "torchtitan-0.3": {"target.fp8_recipe"},
}
_OF_TITAN = {
    "train.optimizer",
    "train.attention",
    "train.dropout",
    "train.ramp_from",
    "train.ramp_tokens",
}
_BLOCK = re.compile(r"(?ms)^target \w+ \{([^\n]*)\}$|^(?!target)(\w+)[^{\n]*\{\n(.*?)^\}")


@cache
def counts(target: str) -> Counter[str]:
    """How many jobs of a whole run have each setting, by block and key."""
    found: Counter[str] = Counter()
    for number in range(WHOLE_JOBS[target]):
        for inline, block, lines in _BLOCK.findall(job_text(target, 1, number)):
            keys = re.findall(r"(?m)^  (\w+) =" if block else r"(?:^|;)\s*(\w+) =", lines or inline)
            found.update({f"{block or 'target'}.{key}" for key in keys})
    return found


def expected(target: str) -> set[str]:
    """Settings that the target has more than one value for."""
    name = target.partition("-")[0]
    blocks = {**CLASSES, "target": BACKENDS[name].target.options}
    del blocks["stage"]  # a stage is the whole job with other settings of `train`
    known = {f"{block}.{key}" for block, of in blocks.items() for key in setting_types(of)}
    known -= ELSEWHERE | {f"model.{key}" for key in ONE_VALUE[target]} | ONE_VALUE_BESIDE[target]
    return known - _OF_TITAN if name == "torchtitan" else known


@pytest.mark.parametrize("target", ONE_VALUE)
def test_every_setting_is_met(target: str) -> None:
    found = counts(target)
    rare = {name: found[name] for name in expected(target) if found[name] < LEAST}
    assert not rare


def test_every_precision_of_megatron_is_met() -> None:
    texts = [job_text("megatron", 1, number) for number in range(WHOLE_JOBS["megatron"])]
    found = Counter(re.findall(r"(?m)^  precision = (\w+)", "\n".join(texts)))
    assert {word: found[word] for word in PRECISIONS if found[word] < LEAST} == {}


@pytest.mark.parametrize("target", ONE_VALUE)
def test_nothing_is_drawn_that_the_target_refuses(target: str) -> None:
    """The table above is of what is refused: what jobs have in vain would count for nothing."""
    refused = {f"model.{key}" for key in ONE_VALUE[target]}
    assert {name for name in refused if counts(target)[name]} <= {
        "model.gated", "model.activation", "model.bias", "model.shared_experts", "model.topk",
    }  # fmt: skip
