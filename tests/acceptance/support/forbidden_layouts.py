"""Layouts that one predicate alone forbids, and the files that parc would have emitted for them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from random import Random
from typing import Any
from unittest.mock import patch

from parc.backends import BACKENDS
from parc.compiler.plan import Layout, Plan
from parc.compiler.rules.validity import broken, variables_of
from parc.compiler.target import Predicate
from parc.compiler.variables import FINE
from parc.dsl.job import Train
from parc.dsl.model import Model
from parc.dsl.settings import Data
from tests.acceptance.support.generated_jobs import Generated
from tests.support import sample_plans

#: Values of each variable, sensible and not.
VALUES = {
    "tp": (1, 1, 2, 3, 4, 8),
    "pp": (1, 1, 2, 3, 4),
    "vpp": (1, 1, 2),
    "cp": (1, 1, 2, 3, 4),
    "ep": (1, 1, 2, 4, 6, 8),
    "etp": (1, 1, 2, 4),
    "dp_replicate": (1, 1, 2, 3),
    "dp_shard": (1, 2, 3, 4, 8),
    "zero": (0, 1, 2, 3),
    "micro_batch": (1, 2),
    "microbatches": (1, 2, 3, 4, 8),
    "recompute": (0, 1, 2, 3),
    "recompute_layers": (0, 0, 1, 9),
    "offload": (0, 0, 1, 2),
    "hpz": (1, 1, 2, 3),
    "order": (0, 0, 0, 0, 1, 2),
}
MOST_GPUS = 64
DENSE = Model(name="dense", layers=8, hidden=768, heads=12, kv_heads=4, ffn=1544, vocab=32000)
EXPERTS = DENSE.model_copy(
    update={"experts": 12, "topk": 2, "expert_ffn": 194, "ffn": 1536, "heads": 24, "kv_heads": 8}
)
#: For AutoTP's rules: ways that divide the widths and not the key-value heads, and the reverse; tied.
LLAMAS = (
    DENSE.model_copy(update={"heads": 24, "kv_heads": 4, "ffn": 1536}),
    DENSE.model_copy(update={"heads": 24, "kv_heads": 12, "ffn": 1540}),
    DENSE.model_copy(update={"heads": 24, "kv_heads": 24, "ffn": 1536, "tied": True}),
)
LATENT = EXPERTS.model_copy(
    update={
        "kv_heads": None, "q_lora_rank": 64, "kv_lora_rank": 32, "qk_nope_head_dim": 32,
        "qk_rope_head_dim": 16, "v_head_dim": 32, "expert_ffn": 192,
    }
)  # fmt: skip


#: What torchtitan's gpt_oss is made of.
SINKS = EXPERTS.model_copy(
    update={
        "attention_sinks": True, "bias": True, "window": 512, "full_attention_every": 2,
        "activation": "quick_gelu", "glu_clamp": 7.0, "glu_offset": 1.0, "expert_ffn": 192,
    }
)  # fmt: skip


@dataclass(frozen=True)
class Setting:
    """A job's part that some predicates look at."""

    model: Model
    train: dict[str, Any]
    options: dict[str, Any]


def _settings(name: str) -> list[Setting]:
    target, _, version = name.partition("-")
    common: dict[str, Any] = {"seq_len": 3072}
    found = [
        Setting(DENSE, common, {}),
        Setting(EXPERTS, common, {}),
        Setting(DENSE.model_copy(update={"tied": True}), common, {}),
        Setting(LATENT, common, {}),
    ]
    if target == "megatron":
        plain = {"gated": False, "norm": "layernorm", "bias": True}
        found += [
            Setting(EXPERTS.model_copy(update=plain), common, {}),
            Setting(DENSE.model_copy(update={"window": 512}), common, {}),
            Setting(DENSE, common | {"attention": "unfused"}, {}),
            Setting(DENSE, common | {"optimizer": "muon"}, {}),
            Setting(DENSE, common | {"precision": "fp8"}, {}),
            Setting(DENSE, common | {"weights": "/weights"}, {}),
            Setting(DENSE, {"seq_len": 3074}, {"tp_overlap": True}),
            Setting(EXPERTS, common, {"sequence_parallel": False}),
            Setting(DENSE, common, {"dp_overlap": False}),
            Setting(DENSE, common | {"dropout": 0.1}, {"cuda_graph": True}),
        ]
    if version:
        dense = [each for each in found if not each.model.mla]
        dense += [Setting(DENSE, common, {"attention_kernel": "varlen"})]
        dense += [Setting(model, common, {"cuda_graph": True}) for model in (DENSE, EXPERTS)]
        return [replace(each, options=each.options | {"version": version}) for each in dense]
    if target == "torchtitan":
        found += [
            Setting(EXPERTS, common | {"precision": "fp8"}, {}),
            Setting(EXPERTS, common, {"validation": Data()}),
            Setting(SINKS, common, {}),
            Setting(EXPERTS, common, {"attention_kernel": "flex"}),
        ]
    if target == "deepspeed":
        found = [each for each in found if each.model.experts == 0]
        found += [Setting(model, common, {"model": "hf"}) for model in LLAMAS]
        found += [
            Setting(DENSE, common, {"extra": {"prescale_gradients": True}}),
            Setting(DENSE, common, {"extra": {"gradient_predivide_factor": 2.0}}),
        ]
    return found


@dataclass(frozen=True)
class Forbidden:
    """One layout, the predicate that forbids it, and its files as if it did not."""

    predicate: Predicate
    job: Generated


def forbidden(name: str, seed: int, each: int) -> Iterator[Forbidden]:
    """Up to `each` layouts of every setting for every predicate of a target, which may end in a version."""
    target = name.partition("-")[0]
    dice = Random(f"{name} {seed}")
    found: dict[tuple[str, int], int] = {}
    for place, setting in enumerate(_settings(name)):
        for number in range(3000):
            plan = _plan(target, setting, dice)
            rules = _broken(plan) if plan is not None else []
            if plan is None or len(rules) != 1:
                continue
            key = (rules[0].code, place)
            if found.get(key, 0) < each and rules[0] in BACKENDS[target].target.predicates:
                found[key] = found.get(key, 0) + 1
                drawn = f"{rules[0].code}-{place}-{number}"
                # The framework is not asked about a rule that is stricter than its own.
                files = {} if rules[0].stricter else _files(plan)
                yield Forbidden(rules[0], Generated(drawn, "", plan, files, ()))


def forced(
    target: str,
    name: str,
    model: Model,
    layout: Layout,
    options: Mapping[str, Any] | None = None,
    **train: Any,
) -> Forbidden:
    """One given layout under a target's `options`, whatever forbids it first."""
    batch = layout.micro_batch * layout.microbatches * layout.dp
    plan = sample_plans.sample_plan(
        target,
        BACKENDS[target].target.options(**options or {}),
        model=model,
        layout=layout,
        train=Train(global_batch=batch, steps=10_000, seq_len=3072, **train),
        gpus_per_node=1,
    )
    return Forbidden(_broken(plan)[0], Generated(name, "", plan, _files(plan), ()))


def _plan(target: str, setting: Setting, dice: Random) -> Plan | None:
    backend = BACKENDS[target]
    drawn = {name: dice.choice(values) for name, values in VALUES.items()}
    layout = Layout(**drawn | ({} if setting.model.moe else {"ep": 1, "etp": 1}))
    train = Train(
        global_batch=layout.micro_batch * layout.microbatches * layout.dp,
        steps=10_000,
        **setting.train,
    )
    options = backend.target.options(**setting.options)
    if layout.gpus > MOST_GPUS or (layout.recompute_layers and layout.recompute != 2):
        return None
    if layout.recompute == FINE and target != "megatron":
        return None  # No other emitter has a word for it.
    plan = sample_plans.sample_plan(
        target, options, model=setting.model, layout=layout, train=train, gpus_per_node=1
    )
    decided = backend.target.domains(plan.job)
    neutral = {
        name: Layout().model_dump()[name]
        for name in VALUES
        if name not in decided and name != "microbatches"
    }
    changed = layout.model_copy(update=neutral)
    train = train.model_copy(
        update={"global_batch": changed.micro_batch * changed.microbatches * changed.dp}
    )
    if backend.target.refuses(plan.job) or changed.pp * changed.vpp > setting.model.layers:
        return None
    return sample_plans.sample_plan(
        target, options, model=setting.model, layout=changed, train=train, gpus_per_node=1
    )


def _broken(plan: Plan) -> list[Predicate]:
    return broken(plan.job, BACKENDS[plan.target].target, variables_of(plan.job, plan.layout))


def _files(plan: Plan) -> dict[str, str]:
    """What would be written if the rules were not asked."""
    emit = BACKENDS[plan.target].emit
    with patch(f"{emit.__module__}.problems", lambda *arguments: []):
        files: dict[str, str] = emit(plan)
    return files
