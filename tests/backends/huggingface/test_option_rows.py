"""The rows of Transformers' Trainer and of accelerate: names that are there, words that go both ways."""

from __future__ import annotations

from parc.backends.huggingface.option_rows import ACCELERATE, TRAINER, option
from parc.lint.releases.history import history
from parc.reading.vocabulary import FACTS

#: Arguments that programs of the Trainer declare beside it, LLaMA-Factory and axolotl.
DECLARED = {
    "cutoff_len", "fsdp_version", "tensor_parallel_size", "context_parallel_size", "dp_shard_size",
    "dp_replicate_size",
}  # fmt: skip


def test_the_trainer_has_every_argument_in_some_release() -> None:
    names = {row.name for row in TRAINER.rows} - DECLARED
    assert {f"--{name}" for name in names} <= history("transformers").names
    assert not {f"--{name}" for name in DECLARED} & history("transformers").names


def test_a_word_and_the_fact_that_it_states() -> None:
    """Decoding an encoded fact gives it back, and every fact has a name that the vocabulary lists."""
    rows = (*TRAINER.rows, *ACCELERATE.rows)
    assert {row.fact for row in rows if row.fact} <= FACTS.keys()
    pairs = [(row, fact) for row in rows for _, fact in row.values]
    assert len(pairs) > 20
    for row, fact in pairs:
        word = row.encoded(fact)
        assert word is not None and row.decoded(word.upper()) == fact
    assert ACCELERATE.by_name["fsdp_config.fsdp_sharding_strategy"].encoded(2) == "shard_grad_op"
    assert TRAINER.by_name["bf16"].decoded("maybe") is None


def test_the_option_of_a_key() -> None:
    assert option("deepspeed_config.zero_stage") == "--zero-stage"
    assert option("per_device_train_batch_size") == "--per-device-train-batch-size"
