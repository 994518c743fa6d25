"""Tables of released options: what a release has, and since when."""

import pytest

from parc.backends.released_options import released_options, releases_with


@pytest.mark.parametrize(
    "framework, name, first, last",
    [
        # In 0.14 windows are in the configuration alone.
        ("megatron", "--window-size", "0.15", "0.19"),
        ("megatron", "--num-layers", "0.14", "0.19"),
        ("megatron", "--load-model-opt-format", "0.14", "0.14"),
        # runtime/config.py:81 of DeepSpeed 0.19 refuses what was removed.
        ("deepspeed", "sparse_gradients", "0.15", "0.18"),
        ("deepspeed", "tensor_parallel.autotp_size", "0.16", "0.19"),
        ("torchtitan", "training.seed", "0.2.0", "0.2.0"),
        ("torchtitan", "debug.seed", "0.2.1", "0.3"),
    ],
)
def test_first_and_last_release(framework: str, name: str, first: str, last: str) -> None:
    found = releases_with(framework, name)
    assert (found[0], found[-1]) == (first, last)


def test_an_option_is_that_of_its_release() -> None:
    old = released_options("megatron", "0.15")["--rampup-batch-size"]
    new = released_options("megatron", "0.16")["--rampup-batch-size"]
    assert (old.count, new.count) == ("*", "3")
    dispatcher = released_options("megatron", "0.19")["--moe-token-dispatcher-type"]
    assert dispatcher.choices == ("allgather", "alltoall", "flex")


def test_a_key_and_its_alias_are_one_option() -> None:
    options = released_options("deepspeed", "0.19")
    plain = options["zero_optimization.prefetch_bucket_size"]
    alias = options["zero_optimization.stage3_prefetch_bucket_size"]
    assert (plain.kind, plain.default) == (alias.kind, alias.default) == ("int", "50000000")
