"""What the tables of releases say, at points that the frameworks' code was read at by hand."""

from __future__ import annotations

import pytest

from parc.lint.releases.forks import PLACES, fork_names, fork_table
from parc.lint.releases.history import history


@pytest.mark.parametrize(
    "framework, name, first, last",
    [
        # v2.0 megatron/arguments.py:161; core_v0.19.0 training/arguments.py
        ("megatron", "--num-layers", "1.0", "0.19"),
        # v2.6 megatron/arguments.py, until recompute took its place in June 2022
        ("megatron", "--activations-checkpoint-method", "2.6", "22.03"),
        ("megatron", "--use-custom-fsdp", "0.12", "0.13"),
        # v0.8.3 runtime/zero/config.py has it; 0.3.16 has constants only
        ("deepspeed", "zero_optimization.stage3_param_persistence_threshold", "0.3", "0.19"),
        ("deepspeed", "zero_optimization.zero_hpz_partition_size", "0.10", "0.19"),
        # config_manager.py of 0.1.0 has it in [parallelism], those before in [training]
        ("torchtitan", "training.data_parallel_degree", "24.06", "24.06"),
        ("torchtitan", "parallelism.tensor_parallel_degree", "0.1.0", "0.3"),
        ("transformers", "--evaluation_strategy", "4.20", "4.50"),
        ("transformers", "--eval_strategy", "4.41", "5.24"),
    ],
)
def test_first_and_last_release(framework: str, name: str, first: str, last: str) -> None:
    found = history(framework).releases_with(name)
    assert (found[0], found[-1]) == (first, last)


def test_a_form_is_that_of_its_release() -> None:
    past = history("megatron")
    kinds = {release: past.option("--warmup", release) for release in ("1.0", "2.0")}
    # v1.0 megatron/arguments.py: a fraction; since 2.0 it is parsed to be refused.
    assert [option and option.kind for option in kinds.values()] == ["float", "int"]
    assert past.option("--warmup", "9.9") is None


@pytest.mark.parametrize(
    "framework, version, release",
    [
        ("megatron", "0.14", "0.14"),
        ("megatron", "0.14.2", "0.14"),
        ("megatron", "2.5", "2.5"),
        ("megatron", "3.0", None),
        ("megatron", "0.99", "0.19"),
        ("deepspeed", "0.99", "0.19"),
        ("torchtitan", "0.2", "0.2.2"),
        ("transformers", "4.44.2", "4.44"),
    ],
)
def test_versions_belong_to_releases(framework: str, version: str, release: str | None) -> None:
    assert history(framework).release_of(version) == release


def test_forks_have_what_no_release_has() -> None:
    table, past = fork_table(), history("megatron")
    # swiss-ai/Megatron-LM megatron/training/arguments.py: --optimizer takes ademamix
    assert "ademamix" in table.options("swiss-ai")["--optimizer"].choices
    assert not any("ademamix" in form.choices for form in past.forms_of("--optimizer"))
    assert "--xielu" not in past and table.releases_with("--xielu") == ("swiss-ai",)
    assert set(PLACES) <= set(fork_names())


def test_forms_come_in_the_order_of_their_releases() -> None:
    forms = history("transformers").forms_of("--evaluation_strategy")
    assert [form.instead for form in forms] == ["", "eval_strategy"]
