"""The words that frameworks know, by release: options of Megatron-LM, keys of DeepSpeed (data/*.txt)."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from ...backends.deepspeed.options import KNOWN_KEYS

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


#: Top-level keys that DeepSpeed looks up, and those that others read: __init__.py, and constants.py:95.
DEEPSPEED_TOP = KNOWN_KEYS | {"data_parallel_size", "bfloat16"}
_DEEPSPEED_REMOVED_WORDS = """
    nebula compression_training amp quantize_training sparse_gradients sparse_attention eigenvalue
    elasticity graph_harvesting curriculum_learning progressive_layer_drop
    zero_optimization.mics_shard_size zero_optimization.mics_hierarchical_params_gather
    zero_optimization.zeropp_loco_param
"""
#: Keys that DeepSpeed 0.19 refuses by name (runtime/config.py:81), top-level and in zero_optimization.
DEEPSPEED_REMOVED = frozenset(_DEEPSPEED_REMOVED_WORDS.split())
