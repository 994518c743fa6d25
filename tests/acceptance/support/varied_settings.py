"""Dice and a block -> settings beside those that a job needs: a few hundred jobs meet every one of them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from pydantic import BaseModel

from parc.dsl import std_cluster, std_gpu
from parc.dsl.schema import CLASSES, SettingType, setting_types

Settings = dict[str, Any]
#: Each in this share of the jobs that can have it.
SHARE = 0.1
#: Of what few jobs can have, such as those with experts.
OFTEN = 0.25

#: Texts that nobody would choose, as they stand in a job file.
TEXTS = (
    '"/data/it\'s here"', '"/data/a b"', '"/data/$1 $(x)"', '"/d/\\"q\\""', '"/données/日本"', '"/d/<(x)"',
    '"/d/a#b;c&d"', '"/d/`x` \\\\ {y}"', '"/plain/path"', '"../up"', '"/d/%s *?"',
)  # fmt: skip


@dataclass(frozen=True)
class Varied:
    """Values that a setting may have, for which targets, and for which jobs (by what is written already)."""

    values: Sequence[Any]
    targets: str = "megatron deepspeed torchtitan"
    fits: Callable[[Settings], bool] = lambda settings: True
    share: float = SHARE


def _dense(settings: Settings) -> bool:
    return "experts" not in settings


def _experts(settings: Settings) -> bool:
    return "experts" in settings


def _experts_apart(settings: Settings) -> bool:
    """Experts in groups of two and more."""
    return _experts(settings) and settings["experts"] % 8 == 0


def _gated(settings: Settings) -> bool:
    return settings.get("gated", True) is True


def _heads(settings: Settings) -> bool:
    """Attention with keys and values of its own, and rope."""
    return "kv_lora_rank" not in settings and settings.get("position", "rope") == "rope"


MODEL: dict[str, Varied] = {
    "norm_eps": Varied(("1e-6", "1e-5"), fits=lambda settings: "norm" not in settings),
    "max_positions": Varied((300_000,), "megatron deepspeed"),
    "causal": Varied((True,)),
    "window": Varied((512, 4096), "megatron deepspeed", lambda sizes: _dense(sizes) and _heads(sizes)),
    "attention_sinks": Varied((True,), "megatron deepspeed", _heads),
    "attention_softcap": Varied((30, 50), "deepspeed"),
    "logit_softcap": Varied((30,), "deepspeed"),
    "parallel_block": Varied((True,), "deepspeed"),
    "init_std": Varied(("0.006", "0.01"),),
    "init_scaled": Varied((False,), "deepspeed torchtitan"),
    "z_loss": Varied(("0.001",), "megatron", _experts, OFTEN),
    "aux_loss": Varied(("0.001", "0.02"), "megatron", _experts, OFTEN),
    "router_norm": Varied((False,), "megatron torchtitan", _experts, OFTEN),
    "router_scale": Varied(("2.5", "16"), "megatron torchtitan", _experts, OFTEN),
}  # fmt: skip
#: Settings that only mean something together.
MODEL_GROUPS: tuple[tuple[Settings, str, Callable[[Settings], bool]], ...] = (
    ({"rope_scaling": "linear", "rope_factor": 4}, "megatron deepspeed", _heads),
    (
        {
            "rope_scaling": "llama3",
            "rope_factor": 8,
            "rope_original_positions": 8192,
            "rope_low_freq": 1,
            "rope_high_freq": 4,
        },
        "megatron deepspeed",
        _heads,
    ),
    (
        {
            "rope_scaling": "yarn",
            "rope_factor": 16,
            "rope_original_positions": 4096,
            "rope_beta_fast": 32,
            "rope_beta_slow": 1,
            "rope_mscale": 1,
            "rope_mscale_all_dim": 0,
            "rope_truncate": False,
        },
        "megatron deepspeed",
        _heads,
    ),
    (
        {"window": 1024, "full_attention_every": 2},
        "megatron deepspeed",
        lambda sizes: _heads(sizes) and "window" not in sizes,
    ),
    (
        {"activation": "quick_gelu", "glu_clamp": 7, "glu_offset": 1},
        "megatron deepspeed",
        lambda sizes: _gated(sizes) and "activation" not in sizes,
    ),
    (
        {"aux_loss": "0.001", "aux_loss_over": "sequence"},
        "megatron",
        lambda sizes: _experts(sizes) and "aux_loss" not in sizes,
    ),
    (
        {"aux_loss": "0.001", "aux_loss_over": "global_batch"},
        "megatron",
        lambda sizes: _experts(sizes) and "aux_loss" not in sizes,
    ),
    (
        {"router_score": "sigmoid", "router_bias_rate": "0.001", "router_scale": "2.5"},
        "megatron torchtitan",
        lambda sizes: _experts(sizes) and sizes["topk"] > 1 and not sizes.get("bias"),
    ),
    (
        {"router_groups": 4, "router_limited_groups": 2, "topk": 4},
        "megatron",
        _experts_apart,
    ),
    (
        {"mtp_layers": 1, "mtp_weight": "0.3"},
        "megatron",
        lambda sizes: sizes.get("position", "rope") == "rope",
    ),
)
TRAIN: dict[str, Varied] = {
    "min_learning_rate": Varied(("3e-5", "0"), fits=lambda train: train["schedule"] != "constant"),
    "weight_decay": Varied(("0.01", "0")),
    "beta1": Varied(("0.8",)),
    "beta2": Varied(("0.99",)),
    "weights": Varied(('"/hf/it\'s $1"', '"org/model-1"')),
    "seed": Varied((1, 2_147_483_647)),
    "checkpoint_interval": Varied((10, 500)),
    "collective_timeout": Varied(("30 min", "90 s")),
    "tracker": Varied(("tensorboard", "wandb")),
    "async_checkpoints": Varied((True,), "megatron torchtitan"),
    "keep_checkpoints": Varied((2, 5), "deepspeed torchtitan"),
    "elastic": Varied((True,)),
}
#: Settings of a launch beside the time, as the SLURM of these tests knows them.
LAUNCH: dict[str, Varied] = {
    "constraint": Varied(('"ib"', '"ib&big"')),
    "segment": Varied((1,)),
    "job_name": Varied(('"a b"', '"train-1"', '"été"')),
    "container": Varied(('"/images/it\'s a $USER.sqsh"', '"nvcr.io#nvidia/pytorch:25.01-py3"')),
    "modules": Varied(('["cuda/12.8"]', '["a b", "c;d", "$(x)"]')),
    "setup": Varied(('["true"]', '["export A=1", "cd \\"$HOME\\""]')),
    "env": Varied(
        (
            '{ NCCL_DEBUG = "INFO" }',
            '{ NCCL_IB_HCA = "mlx5_0,mlx5_1"; A = "it\'s $HOME $1 `x` <(y)"; N = 3; T = true }',
        )
    ),
    "health_check": Varied((False,)),
    "extra": Varied(('{ comment = "a b" }', "{ nice = 100 }", '{ "mail-type" = "END" }')),
}


def more_model(dice: Random, target: str, sizes: Settings) -> Settings:
    """Settings of the model beside `sizes`, as far as the target has them."""
    found: Settings = {}
    for group, targets, fits in MODEL_GROUPS:
        share = OFTEN if fits is _experts_apart or "router_score" in group else SHARE
        apart = next(iter(group)) not in sizes | found
        if target in targets and apart and fits(sizes | found) and dice.random() < share:
            found |= group
    return found | _drawn(dice, MODEL, target, sizes | found)


def more_train(dice: Random, target: str, train: Settings, steps: int) -> Settings:
    """Settings of training beside `train`, a run of that many steps."""
    found = _drawn(dice, TRAIN, target, train)
    if dice.random() < SHARE and steps > 200:
        found |= {"schedule": "wsd", "decay_steps": 20, "decay_style": dice.choice(STYLES[target])}
    return found


STYLES = {
    "megatron": ("linear", "cosine", "sqrt", "exponential"),
    "deepspeed": ("linear", "cosine", "sqrt", "exponential"),
    "torchtitan": ("linear", "cosine", "sqrt"),
}


def more_launch(dice: Random, launch: Settings) -> Settings:
    found = _drawn(dice, LAUNCH, "megatron", launch)
    if "container" in found and dice.random() < 0.75:
        found["mounts"] = dice.choice(('"/data:/data"', '"/it\'s $USER:/m"'))
    return found


#: Options whose values are not free: a release, a kind of model, what `job_generator.py` draws itself.
_NOT_FREE = {
    "version", "model", "extra", "path", "split", "tokenizer_type", "data_dtype", "train_data", "valid_data",
    "test_data", "sft", "tokenizer", "prompt_format", "profile_start", "profile_stop",
}  # fmt: skip
#: What `megatron_settings.py` and `drawn_stack.py` draw.
_DRAWN_ELSEWHERE = {
    "megatron": {
        "data", "attention_kernel", "fp8_recipe", "cuda_graph", "dispatcher", "moment_dtype",
        "ep_overlap",
    },
    "deepspeed": {
        "attention_kernel", "norm_kernel", "loss_kernel", "grad_dtype", "tp_overlap", "dp_overlap",
    },
    "torchtitan": {"attention_kernel", "loss_kernel", "tp_overlap", "fp8_recipe", "cuda_graph"},
}  # fmt: skip
#: Options that only mean something together, by target.
OPTION_GROUPS: dict[str, tuple[tuple[str, ...], ...]] = {
    "megatron": (),
    "deepspeed": (
        ("profile_start = 3", "profile_stop = 5"),
        ('data_dtype = "uint32"', 'data = "/d"'),
    ),
    "torchtitan": (("profile_start = 3", "profile_stop = 5"),),
}
DATA = (
    "synthetic", '["/data/a", "/data/it\'s b"]', '{ "/data/a b" = 0.7; "/data/$1" = 0.3 }', *TEXTS,
)  # fmt: skip


def more_options(
    dice: Random, target: str, options: type[BaseModel], given: Sequence[str]
) -> list[str]:
    """Settings of a target block beside those given, each `key = value`: texts that nobody would choose."""
    written = "; ".join(given).split(";")
    taken = {each.partition("=")[0].strip() for each in written}
    found: list[str] = []
    for group in OPTION_GROUPS[target]:
        keys = {each.partition("=")[0].strip() for each in group}
        if not keys & taken and dice.random() < SHARE:
            found += group
            taken |= keys
    for key, setting in setting_types(options).items():
        if (
            key not in taken | _NOT_FREE | _DRAWN_ELSEWHERE.get(target, set())
            and dice.random() < SHARE
        ):
            found.append(f"{key} = {_value(dice, setting)}")
    return found


def _value(dice: Random, setting: SettingType) -> str:
    if setting.kind == "word":
        return json.dumps(dice.choice(setting.words))
    if setting.kind in ("whole", "number"):
        return str(dice.choice((2, 3, 50)))
    choices = {"text": TEXTS, "data": DATA, "truth": ("true", "false")}
    return dice.choice(choices[setting.kind])


#: Rates that few of the drawn GPUs have.
BLACKWELLS = ("fp4",)


def changed_numbers(dice: Random, kind: str, name: str) -> Settings:
    """Numbers of the std gpu or cluster, some of them up to a tenth off, in the words of the language."""
    entry = std_gpu(name) if kind == "gpu" else std_cluster(name)
    found: Settings = {}
    for key, setting in setting_types(CLASSES[kind]).items():
        value = getattr(entry, key)
        share = SHARE * (2 if key in BLACKWELLS else 1)
        if setting.kind not in ("number", "whole") or value is None or dice.random() > share:
            continue
        if key in ("nodes", "gpus_per_node", "nvlink_domain", "pod_gpus"):
            continue
        limit = dict(setting.limits).get("le", 1e19)
        drawn = min(value * dice.uniform(0.9, 1.1) or 1.0, limit)
        number = round(drawn) if setting.kind == "whole" else f"{drawn:.6g}"
        unit = str(setting.dimension)
        found[key] = number if unit == "1" else f"{number} {unit}"
    if kind == "gpu" and dice.random() < SHARE:
        found["power_limit"] = f"{std_gpu(name).power * dice.uniform(0.5, 0.89):.4g} W"
    return found


def _drawn(dice: Random, table: Mapping[str, Varied], target: str, settings: Settings) -> Settings:
    found: Settings = {}
    for key, varied in table.items():
        fitting = target in varied.targets and key not in settings
        if fitting and varied.fits(settings | found) and dice.random() < varied.share:
            found[key] = dice.choice(varied.values)
    return found
