"""The words that frameworks know: of their tables of options, and of releases before those (data/*.txt)."""

from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files

from ...backends.deepspeed.releases import top_keys
from ...backends.released_options import (
    ReleasedOption,
    released_options,
    releases,
    releases_with,
)

MEGATRON = releases("megatron")["0.19"]
DEEPSPEED = releases("deepspeed")["0.19"]


def _rows(name: str) -> Iterator[list[str]]:
    text = (files("parc.lint") / "data" / name).read_text(encoding="utf-8")
    return (line.split() for line in text.splitlines() if line and not line.startswith("#"))


def megatron_options() -> Mapping[str, ReleasedOption]:
    """Today's options by name."""
    return released_options("megatron", list(releases("megatron"))[-1])


@cache
def megatron_removed() -> dict[str, str]:
    """Options that are gone, with the last release that had them (before 0.4 a year)."""
    before = {row[0]: row[1] for row in _rows("megatron-removed.txt")}
    names = {name for each in releases("megatron") for name in released_options("megatron", each)}
    gone = names - set(megatron_options())
    return before | {name: releases_with("megatron", name)[-1] for name in gone}


@cache
def megatron_known() -> frozenset[str]:
    """Every option of any release, other program or Megatron-DeepSpeed."""
    others = {name for row in _rows("megatron-other.txt") for name in row}
    return frozenset({*megatron_options(), *megatron_removed(), *others})


@cache
def deepspeed_keys() -> dict[str, dict[str, ReleasedOption]]:
    """Section whose keys DeepSpeed checks -> its keys."""
    options = released_options("deepspeed", list(releases("deepspeed"))[-1])
    found: dict[str, dict[str, ReleasedOption]] = {}
    for name, option in options.items():
        section, _, key = name.rpartition(".")
        if section in options and options[section].kind == "section":
            found.setdefault(section, {})[key] = option
    return found


#: Top-level keys that DeepSpeed looks up, and the one that deepspeed.initialize does.
DEEPSPEED_TOP = top_keys() | {"data_parallel_size"}
#: Keys of older releases that DeepSpeed 0.19 refuses by name (runtime/config.py:81).
DEEPSPEED_REMOVED = frozenset(
    name
    for name in released_options("deepspeed", "0.18")
    if name not in released_options("deepspeed", "0.19")
) | {"quantize_training", "eigenvalue"}
