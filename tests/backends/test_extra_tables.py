"""Tables of `extra`: they name what a release has, and own what layouts write."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import pytest

from parc.backends import BACKENDS, extra
from parc.backends.deepspeed import extra as deepspeed
from parc.backends.deepspeed import option_rows as deepspeed_rows
from parc.backends.megatron import extra as megatron
from parc.backends.megatron import option_rows as megatron_rows
from parc.backends.released_options import ReleasedOption, released_options, releases
from parc.backends.torchtitan import extra as torchtitan
from parc.backends.torchtitan import option_rows as torchtitan_rows
from parc.compiler.plan import Layout
from parc.dsl.model import Model
from tests.support import sample_plans
from tests.support.bash_launches import command

TABLES = {
    "megatron": (megatron_rows.ROWS.decided, megatron.COSTS, megatron_rows.ROWS.said),
    "deepspeed": (
        deepspeed_rows.ROWS.decided,
        deepspeed.FREE,
        deepspeed.CHOICES,
        deepspeed.KIND_OF,
        deepspeed_rows.ROWS.said,
    ),
    "torchtitan": (
        torchtitan_rows.ROWS.decided,
        torchtitan.COSTS,
        torchtitan.FORMS,
        torchtitan.NEWEST_FORMS,
        torchtitan.CHOICES,
        torchtitan_rows.ROWS.said,
    ),
}
#: Keys that layouts write and a user may set to something else, which is warned of.
TUNED = {
    "megatron": {"--no-gradient-accumulation-fusion"},
    "deepspeed": {
        "zero_optimization.allgather_bucket_size",
        "zero_optimization.contiguous_gradients",
        "zero_optimization.offload_optimizer.pin_memory",
        "zero_optimization.offload_param.pin_memory",
        "zero_optimization.reduce_bucket_size",
        "zero_optimization.reduce_scatter",
        "zero_optimization.stage3_max_live_parameters",
        "zero_optimization.stage3_max_reuse_distance",
        "zero_optimization.stage3_param_persistence_threshold",
        "zero_optimization.stage3_prefetch_bucket_size",
        "zero_optimization.sub_group_size",
    },
    "torchtitan": set[str](),
}
DENSE, MOE = sample_plans.LLAMA3_8B, sample_plans.MIXTRAL_8X7B
#: Layouts of one job each: what differs between them is the layout's.
LAYOUTS: Mapping[str, list[tuple[Model, list[Layout]]]] = {
    "megatron": [
        (
            DENSE,
            [
                Layout(dp_shard=8, zero=1, microbatches=16),
                Layout(dp_replicate=8, microbatches=16),
                Layout(dp_shard=8, zero=1, micro_batch=2, microbatches=8, offload=1),
                Layout(dp_shard=8, zero=2, microbatches=16, recompute=1),
                Layout(dp_shard=8, zero=3, microbatches=16, recompute=2),
                Layout(tp=2, cp=2, dp_shard=2, zero=1, microbatches=64),
                Layout(pp=8, microbatches=128, recompute=2, recompute_layers=2),
                Layout(pp=4, vpp=2, dp_shard=2, zero=1, microbatches=64),
            ],
        ),
        (
            MOE,
            [
                Layout(dp_shard=8, zero=1, microbatches=16),
                Layout(tp=2, ep=2, etp=2, dp_shard=4, zero=1, microbatches=32),
            ],
        ),
    ],
    "deepspeed": [
        (
            DENSE,
            [
                Layout(dp_replicate=8, micro_batch=16),
                Layout(dp_shard=8, zero=1, microbatches=16),
                Layout(dp_shard=8, zero=2, micro_batch=2, microbatches=8, offload=1),
                Layout(dp_shard=8, zero=3, microbatches=16, offload=2, recompute=2),
                Layout(dp_shard=8, zero=3, microbatches=16, hpz=4, recompute=1),
                Layout(cp=8, zero=3, microbatches=128),
                Layout(pp=4, dp_shard=2, zero=1, microbatches=64),
            ],
        )
    ],
    "torchtitan": [
        (
            DENSE,
            [
                Layout(dp_replicate=8, microbatches=16),
                Layout(dp_shard=8, zero=2, microbatches=16, recompute=1),
                Layout(dp_shard=8, zero=3, micro_batch=2, microbatches=8, recompute=2),
                Layout(tp=2, cp=2, dp_shard=2, zero=3, microbatches=64),
                Layout(pp=4, dp_shard=2, zero=1, microbatches=64),
                Layout(pp=4, vpp=2, dp_shard=2, zero=1, microbatches=64),
            ],
        ),
        (
            MOE,
            [
                Layout(dp_shard=8, zero=3, microbatches=16),
                Layout(tp=2, ep=4, dp_shard=4, zero=3, microbatches=32),
            ],
        ),
    ],
}


@pytest.mark.parametrize("target", TABLES)
def test_a_table_names_nothing_that_no_release_has(target: str) -> None:
    known = [
        option
        for release in releases(target)
        for option in released_options(target, release).values()
    ]
    idle = [
        pattern
        for table in TABLES[target]
        for pattern in table
        if not any(named(pattern, option) for option in known)
    ]
    assert idle == []


def named(pattern: str, option: ReleasedOption) -> bool:
    """An option, or a key of a section whose keys are not listed."""
    inside = option.kind == "object" and pattern.startswith(f"{option.name}.")
    return inside or extra.among(option.name, [pattern])


@pytest.mark.parametrize("target", TABLES)
def test_a_table_of_values_names_nothing_that_is_refused(target: str) -> None:
    owned, *others, said = TABLES[target]
    judged = {key for table in others if isinstance(table, Mapping) for key in table}
    assert [key for key in judged if extra.among(key, owned) or key in said] == []


@pytest.mark.parametrize("target", LAYOUTS)
def test_what_layouts_write_is_owned(target: str) -> None:
    owned, *_, said = TABLES[target]
    found = {key for model, layouts in LAYOUTS[target] for key in differing(target, model, layouts)}
    assert len(found) > 10
    free = {key for key in found if not extra.among(key, owned) and key not in said}
    assert free == TUNED[target]


def differing(target: str, model: Model, layouts: Iterable[Layout]) -> set[str]:
    """Keys that the files of some of the layouts have, or have otherwise."""
    options = BACKENDS[target].target.options()
    files = [
        dict(settings(target, sample_plans.sample_plan(target, options, model=model, layout=each)))
        for each in layouts
    ]
    return {
        key for each in files for key in each if any(other.get(key) != each[key] for other in files)
    }


def settings(target: str, plan: Any) -> Iterator[tuple[str, Any]]:
    files = BACKENDS[target].emit(plan)
    if target == "deepspeed":
        return flat(json.loads(files["deepspeed/ds_config.json"]))
    if target == "torchtitan":
        return flat(tomllib.loads(files["torchtitan/train.toml"]))
    return options_of(str(word.text) for word in command(files["megatron/pretrain.sh"]))


def flat(table: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in table.items():
        if isinstance(value, dict):
            yield from flat(value, f"{above}{key}.")
        else:
            yield above + key, value


def options_of(words: Iterable[str]) -> Iterator[tuple[str, Any]]:
    """The options behind the program, with their words."""
    name, values = "", list[str]()
    for word in words:
        if word.startswith("--"):
            yield name, values
            name, values = word, []
        else:
            values.append(word)
    yield name, values
