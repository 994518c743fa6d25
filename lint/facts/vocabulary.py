"""The words that frameworks know today, and those that they once knew."""

from collections.abc import Mapping
from functools import cache
from importlib.resources import files

from ...backends.deepspeed.releases import top_keys
from ...backends.released_options import (
    ReleasedOption,
    option_table,
    released_options,
    releases,
)
from ..releases.forks import fork_table
from ..releases.history import history

MEGATRON = releases("megatron")["0.19"]
DEEPSPEED = releases("deepspeed")["0.19"]
#: deepspeed 0.19.8 __init__.py, _add_core_arguments, which programs of Megatron's forks call.
_DEEPSPEED_ARGUMENTS = frozenset(
    {"--deepspeed", "--deepspeed_config", "--deepscale", "--deepscale_config", "--deepspeed_mpi"}
)


def megatron_options() -> Mapping[str, ReleasedOption]:
    """Today's options by name."""
    return released_options("megatron", history("megatron").newest)


@cache
def megatron_removed() -> dict[str, str]:
    """Options that are gone, with the last release that had them."""
    past = history("megatron")
    return {name: past.releases_with(name)[-1] for name in past.names - set(past.at(past.newest))}


@cache
def megatron_programs() -> frozenset[str]:
    """Options of Megatron-LM's other programs, which its training programs never had."""
    path = files("parc.lint.releases") / "programs.csv"
    return frozenset(option_table(path.read_text(encoding="utf-8")).by_name)


@cache
def megatron_known() -> frozenset[str]:
    """Every option of any release, of a fork, or of another program of Megatron-LM."""
    names = history("megatron").names | megatron_programs() | _DEEPSPEED_ARGUMENTS
    return names.union(fork_table().by_name)


@cache
def deepspeed_keys(release: str | None = None) -> dict[str, dict[str, ReleasedOption]]:
    """Section whose keys a release of DeepSpeed checks -> its keys; of the newest unless one is named."""
    past = history("deepspeed")
    options = past.at(release or past.newest)
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
