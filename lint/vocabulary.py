"""The words that frameworks know, by release: options of Megatron-LM, keys of DeepSpeed (data/*.txt)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

MEGATRON = "0.19.2"
DEEPSPEED = "0.19.8"


@dataclass(frozen=True)
class Option:
    """An option of Megatron-LM: `kind` is switch, int, float or another type's name; `count` how many values
    (1, or a number, `+`, `*`, `?`)."""

    name: str
    kind: str
    count: str
    choices: tuple[str, ...]


@dataclass(frozen=True)
class Key:
    """A key of a section that DeepSpeed checks, and what replaces it when it is deprecated."""

    section: str
    name: str
    kind: str
    alias: str | None
    instead: str | None


def _rows(name: str) -> Iterator[list[str]]:
    text = (files("parc.lint") / "data" / name).read_text(encoding="utf-8")
    return (line.split() for line in text.splitlines() if line and not line.startswith("#"))


@cache
def megatron_options() -> dict[str, Option]:
    """Today's options by name."""
    found = {}
    for name, kind, *rest in _rows(f"megatron-{MEGATRON}.txt"):
        counts = [part for part in rest if part in ("+", "*", "?") or part.isdigit()]
        choices = [part for part in rest if part not in counts]
        choice = tuple(choices[0].split("|")) if choices else ()
        found[name] = Option(name, kind, counts[0] if counts else "1", choice)
    return found


@cache
def megatron_removed() -> dict[str, str]:
    """Options that are gone, with the last release that had them (before 0.4 a year)."""
    return {row[0]: row[1] for row in _rows("megatron-removed.txt")}


@cache
def megatron_known() -> frozenset[str]:
    """Every option of any release, other program or Megatron-DeepSpeed."""
    others = {name for row in _rows("megatron-other.txt") for name in row}
    return frozenset({*megatron_options(), *megatron_removed(), *others})


@cache
def deepspeed_keys() -> dict[str, dict[str, Key]]:
    """Section -> each spelling of its keys."""
    found: dict[str, dict[str, Key]] = {}
    for section, name, kind, *rest in _rows(f"deepspeed-{DEEPSPEED}.txt"):
        alias = next((part[1:] for part in rest if part.startswith("=")), None)
        instead = next((part[1:] for part in rest if part.startswith(">")), None)
        key = Key(section, name, kind, alias, instead)
        found.setdefault(section, {}).update({name: key} | ({alias: key} if alias else {}))
    return found


_DEEPSPEED_TOP_WORDS = """
    activation_checkpointing aio autotuning bf16 bfloat16 checkpoint comet comms_logger
    communication_data_type compile csv_monitor data_efficiency data_parallel_size data_types
    dataloader_drop_last datastates_ckpt disable_allgather disable_python_gc dump_state
    expert_parallel flops_profiler fp16 gradient_accumulation_steps gradient_allreduce_op
    gradient_clipping gradient_predivide_factor hybrid_engine log_level
    managed_gradient_accumulation memory_breakdown optimizer pipeline prescale_gradients scheduler
    seq_parallel_communication_data_type sequence_parallel_size steps_per_print tensor_parallel
    tensorboard timers torch_autocast train_batch_size train_micro_batch_size_per_gpu
    use_data_before_expert_parallelism vocabulary_size wall_clock_breakdown wandb
    weight_quantization zero_allow_untested_optimizer zero_force_ds_cpu_optimizer zero_optimization
"""
#: Top-level keys that DeepSpeed 0.19.8 looks up: runtime/config.py, __init__.py and the launcher.
DEEPSPEED_TOP = frozenset(_DEEPSPEED_TOP_WORDS.split())
_DEEPSPEED_REMOVED_WORDS = """
    nebula compression_training amp quantize_training sparse_gradients sparse_attention eigenvalue
    elasticity graph_harvesting curriculum_learning progressive_layer_drop
    zero_optimization.mics_shard_size zero_optimization.mics_hierarchical_params_gather
    zero_optimization.zeropp_loco_param
"""
#: Keys that DeepSpeed 0.19 refuses by name (runtime/config.py:81), top-level and in zero_optimization.
DEEPSPEED_REMOVED = frozenset(_DEEPSPEED_REMOVED_WORDS.split())
