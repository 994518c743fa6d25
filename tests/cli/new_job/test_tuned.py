"""`parc init --tune` and `--data`: the checkpoint, settings of targets, the form of data and its tokens."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import parc
from parc.api import plan_targets
from parc.new_job.training_data import training_data
from tests.support.command_line import Parc

LLAMA = ("init", "--model", "meta-llama/Llama-3.1-8B", "--gpus", "4xA100", "-o", "new.par")


def said(run: Parc, *command: str) -> parc.Job:
    assert run(*command).code == 0
    return parc.load(Path(command[command.index("-o") + 1]))


@pytest.mark.parametrize(
    ("tune", "targets"),
    [
        ("full", ["megatron", "deepspeed", "torchtitan", "accelerate"]),
        ("lora", ["deepspeed", "accelerate"]),
        ("qlora", ["deepspeed", "accelerate"]),
    ],
)
def test_a_fine_tuning_is_planned_by_the_targets_that_train_it(
    tune: str, targets: list[str], run: Parc
) -> None:
    job = said(run, *LLAMA, "--tune", tune)
    assert (job.train.tune, job.train.weights) == (tune, "meta-llama/Llama-3.1-8B")
    assert job.train.learning_rate == (1e-5 if tune == "full" else 2e-4)
    assert job.train.global_batch % 4 == 0
    assert [target.name for target in job.targets] == targets
    assert [plan.layout.gpus for plan in plan_targets(job).plans] == [4] * len(targets)


def test_qwen3_has_adapters(run: Parc) -> None:
    job = said(run, "init", "--model", "Qwen/Qwen3-8B", "--tune", "lora", "-o", "new.par")
    assert job.train.weights == "Qwen/Qwen3-8B"


@pytest.mark.parametrize(
    ("named", "weights"),
    [
        ("Qwen/Qwen3-8B", None),
        ("qwen3_8b", None),
        ("meta-llama/Llama-3.1-8B-Instruct", "meta-llama/Llama-3.1-8B-Instruct"),
        ("mistralai/Mistral-7B-Instruct-v0.3", "mistralai/Mistral-7B-Instruct-v0.3"),
        # Weights in four bits are no start; those of the base are.
        ("unsloth/Meta-Llama-3.1-8B-Instruct-bnb-4bit", "meta-llama/Llama-3.1-8B"),
    ],
)
def test_a_tuned_model_is_tuned_further(named: str, weights: str | None, run: Parc) -> None:
    job = said(run, "init", "--model", named, "--gpus", "8xH100", "-o", "new.par")
    assert job.train.weights == weights
    assert job.train.tune == ("full" if weights else None)
    assert job.train.learning_rate == (1e-5 if weights else 3e-4)
    assert (job.train.steps is not None) == (weights is not None)


def test_a_folder_holds_the_weights(run: Parc) -> None:
    config = {"model_type": "llama", "num_hidden_layers": 2, "hidden_size": 256, "vocab_size": 1024}
    config |= {"num_attention_heads": 4, "intermediate_size": 512}
    Path("tiny").mkdir()
    Path("tiny", "config.json").write_text(json.dumps(config))
    job = said(run, "init", "--hf", "tiny", "--tune", "full", "--gpus", "8xH100", "-o", "new.par")
    assert job.train.weights == "tiny" and job.train.tune == "full"


def test_token_ids_are_counted(run: Parc) -> None:
    Path("tokens.bin").write_bytes(bytes(4 * 1000))
    job = said(run, *LLAMA, "--tune", "lora", "--data", "tokens.bin")
    assert job.train.tokens == 3000
    assert [target.name for target in job.targets] == ["deepspeed", "accelerate"]
    for target in job.targets:
        assert target.options.data.parts == ((str(Path("tokens.bin").absolute()), 1.0),)


def test_data_of_another_form_leaves_a_target_out(run: Parc) -> None:
    Path("rows").mkdir()
    Path("rows", "a.jsonl").write_text('{"text": "a"}\n')
    job = said(run, *LLAMA, "--tune", "full", "--data", "rows")
    assert [target.name for target in job.targets] == ["torchtitan"]
    assert "it reads flat files of token ids" in Path("new.par").read_text()
    ran = run(*LLAMA, "--tune", "lora", "--data", "rows", "--force")
    assert ran.code == 2 and "rows holds rows of text" in ran.err and "docs/tuning.md" in ran.err


def test_forms_of_data(tmp_path: Path) -> None:
    for name in ("text_document.bin", "text_document.idx", "flat.bin", "rows.parquet"):
        (tmp_path / name).write_bytes(b"12345678")
    found = training_data(str(tmp_path / "text_document"))
    assert (found.form, found.path) == ("indexed", str(tmp_path / "text_document"))
    found = training_data(str(tmp_path / "flat.bin"))
    assert (found.form, found.tokens(32_000), found.tokens(128_256)) == ("flat", 4, 2)
    assert training_data(str(tmp_path / "rows.parquet")).form == "rows"


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("--tune", "lora", "--data", "nowhere"), "PAR192"),
        (("--tune", "lora", "--data", "empty"), "PAR192"),
    ],
)
def test_missing_data_is_said(arguments: tuple[str, ...], code: str, run: Parc) -> None:
    Path("empty").mkdir()
    ran = run(*LLAMA, *arguments)
    assert ran.code == 2 and code in ran.err and not Path("new.par").exists()


def test_a_model_without_a_checkpoint_is_said(run: Parc) -> None:
    ran = run("init", "--model", "gpt_125m", "--tune", "full", "--gpus", "8xH100", "-o", "new.par")
    assert ran.code == 2 and "PAR193" in ran.err and "Qwen/Qwen3-8B" in ran.err
