"""Arguments of Transformers' Trainer, of LLaMA-Factory and of axolotl -> their checkpoints.

transformers 4.55.4 training_args.py: `save_strategy` is steps and `save_steps` 500 unless given.
hiyouga/LLaMA-Factory@ff6d4d12 src/llamafactory/hparams/parser.py:605: a start goes on from the newest
checkpoint of `output_dir` unless `overwrite_output_dir` is on. axolotl-ai-cloud/axolotl@002a637c
src/axolotl/train.py: it does with `auto_resume_from_checkpoints` alone, and SIGINT keeps the weights. Whether
another program of the Trainer goes on, and which signals it handles, is its own code's.
"""

from __future__ import annotations

import re

from ...reading import programs
from ...reading.facts import LaunchConfig, Setting, dashed, number_of, text_of
from ..kept import Files, Kept, undecided

#: The Trainer's folder of a step, and in it ZeRO's file of a data-parallel rank (deepspeed 0.19.8
#: runtime/engine.py:4320).
_STEP = re.compile(r"checkpoint-(\d{1,9})")
_RANK = re.compile(r"(?:bf16_)?zero_pp_rank_(\d{1,6})_mp_rank_\d{2,4}_optim_states\.pt")
#: Of the Trainer, unless they are given.
_STRATEGY, _STEPS = "steps", 500
#: Arguments that tell LLaMA-Factory from other programs.
_FACTORY = ("stage", "finetuning_type")
#: Keys that tell a YAML of a trainer's arguments.
_YAML = ("per_device_train_batch_size", "micro_batch_size")
#: Those that tell axolotl.
_AXOLOTL = ("base_model", "micro_batch_size")


def kept(config: LaunchConfig) -> Kept | None:
    """None where no trainer's arguments are read."""
    written = (dashed(each.name) for each in config.all("argument"))
    named = any(config.setting("yaml", name) is not None for name in _YAML)
    if not named and not programs.reads_training_arguments(written):
        return None
    factory = _has(config, *_FACTORY)
    axolotl = _has(config, *_AXOLOTL)
    strategy = _argument(config, "save_strategy")
    word = _STRATEGY if strategy is None else (text_of(strategy) or "").lower()
    unsure = config.may_be_given("--save-strategy") or undecided(strategy) or not word
    folder, interval = _argument(config, "output_dir"), _argument(config, "save_steps")
    off = word in ("no", "false")
    return Kept(
        saves=None if unsure else not off,
        resumes=_resumes(config, factory) if factory or axolotl else None,
        interval=_interval(config, interval) if word == "steps" else None,
        steps=number_of(_argument(config, "max_steps")),
        folder=folder,
        interval_at=interval,
        handles=_handles(config) if factory or axolotl else None,
        at=strategy if off else _argument(config, "overwrite_output_dir"),
    )


def _argument(config: LaunchConfig, name: str) -> Setting | None:
    """An argument by its field's name: an option of the command, else a key of its YAML."""
    return config.option(f"--{name.replace('_', '-')}") or config.setting("yaml", name)


def _interval(config: LaunchConfig, given: Setting | None) -> int | None:
    """A share of the steps stands for no number here; axolotl saves at epochs unless it is told steps."""
    if given is None:
        unsure = config.may_be_given("--save-steps") or _has(config, *_AXOLOTL)
        return None if unsure else _STEPS
    return number_of(given)


def _has(config: LaunchConfig, *names: str) -> bool:
    return all(_argument(config, name) is not None for name in names)


def _resumes(config: LaunchConfig, factory: bool) -> bool | None:
    """Rewards are trained without a way back, unless by adapters."""
    switch = "overwrite_output_dir" if factory else "auto_resume_from_checkpoints"
    given = _argument(config, switch)
    if undecided(given) or config.may_be_given(f"--{switch.replace('_', '-')}"):
        return None
    if _has(config, "resume_from_checkpoint") or (
        factory and text_of(_argument(config, "stage")) in ("rm", "ppo")
    ):
        return None
    on = given is not None and (text_of(given) or "true").lower() in ("true", "1", "yes")
    return on is not factory


def _handles(config: LaunchConfig) -> frozenset[str] | None:
    """transformers 5 trainer_jit_checkpoint.py: `enable_jit_checkpoint` saves on SIGTERM."""
    given = _argument(config, "enable_jit_checkpoint")
    if given is None:
        return frozenset()
    return None if text_of(given) is None else frozenset({"TERM"})


def layout_at(config: LaunchConfig, folder: str, files: Files) -> dict[str, int]:
    """The GPUs over which ZeRO divided the optimizer; a universal checkpoint may have any number."""
    steps = [int(match[1]) for each in files.names(folder) if (match := _STEP.fullmatch(each))]
    divided = any(config.value(name) not in (None, 1) for name in ("tp", "ulysses"))
    if not steps or divided or config.setting("json", "checkpoint.load_universal") is not None:
        return {}
    newest = f"{folder}/checkpoint-{max(steps)}"
    tag = (files.read(f"{newest}/latest") or "").strip()
    names = files.names(f"{newest}/{tag}") if re.fullmatch(r"[\w.-]{1,80}", tag) else ()
    ranks = [int(match[1]) for each in names if (match := _RANK.fullmatch(each))]
    return {"gpus": 1 + max(ranks)} if ranks else {}
