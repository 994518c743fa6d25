"""Forks of Megatron-LM: the options and values that they alone have, and places by which they are known."""

import re
from collections.abc import Iterable, Mapping
from functools import cache
from importlib.resources import files
from types import MappingProxyType

from ...backends.released_options import OptionTable, option_table

#: What a script of a fork holds: its repository, its folder, or a program that it alone has.
PLACES: Mapping[str, re.Pattern[str]] = MappingProxyType(
    {
        name: re.compile(pattern)
        for name, pattern in {
            "swiss-ai": r"swiss-ai/|/swissai/|Apertus",
            "llm-jp": r"llm-jp",
            "lumi": r"Megatron-LM-lumi|/scratch/project_46\d{7}|/opt/.{0,200}lumi",
            "habana": r"HabanaAI|\bHABANA_|\bPT_HPU_|habana_frameworks",
            "rocm": r"ROCm/Megatron|rocm/megatron-lm",
            "megatron-llama": r"Megatron-LLaMA",
            "pai": r"Pai-Megatron|PAI-Megatron|\bMEGATRON_PATCH_PATH\b|megatron_patch",
            "bigcode": r"bigcode",
            "bigscience": r"bigscience",
            "argonne": r"argonne-lcf|\bALCF\b",
            "epfl": r"epfLLM|Megatron-LLM\b",
            "yalm": r"\bYaLM\b|megatron_lm/",
            "megatron-3d": r"megatron-3d",
            "flagscale": r"FlagScale|Megatron-LM-FL",
            "megatron-deepspeed": r"(?:deepspeedai|microsoft)/Megatron-DeepSpeed",
        }.items()
    }
)


@cache
def fork_table() -> OptionTable:
    """The forks, each with its repository and commit, and what they have beside Megatron-LM's releases."""
    path = files("parc.lint.releases") / "forks.csv"
    return option_table(path.read_text(encoding="utf-8"))


def fork_names() -> tuple[str, ...]:
    return tuple(fork_table().versions)


def forks_by_place(texts: Iterable[str]) -> tuple[str, ...]:
    """The forks whose places the texts name."""
    whole = tuple(texts)
    return tuple(name for name, mark in PLACES.items() if any(mark.search(text) for text in whole))
