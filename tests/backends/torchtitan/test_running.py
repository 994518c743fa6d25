"""torchtitan: data, schedules, checkpoints, evaluation, profiles, time limits and environment of a run."""

import ast
import os
import subprocess
import tomllib
from pathlib import Path
from typing import Any, Literal

import pytest

from parc.backends.torchtitan import BACKEND
from parc.backends.torchtitan.options import Options
from parc.compiler.plan import Layout, Plan
from parc.compiler.target import warnings
from parc.dsl import std_model
from parc.dsl.job import Job
from parc.dsl.model import Model
from parc.dsl.settings import Data
from tests.support import sample_plans
from tests.support.sample_plans import LLAMA3_8B, MIXTRAL_8X7B, train_of

TARGET = BACKEND.target
GPT_OSS = std_model("gpt_oss_20b").model_copy(update={"aux_loss": 0.0})
PIPELINE = Layout(pp=2, dp_shard=4, zero=1, microbatches=4)
FSDP = Layout(dp_shard=8, zero=3)
TOML, JOB = "torchtitan/train.toml", "torchtitan/parc_job.py"
DATA, MODEL = "torchtitan/parc_data.py", "torchtitan/parc_model.py"
FILES = Data(parts=(("/data/a b.jsonl", 1.0),))
NAMED = Data(parts=(("c4", 1.0),))
BLEND = Data(parts=(("c4", 0.7), ("/data/texts", 0.3)))


def plan(options: Options | None = None, layout: Layout = FSDP, **train: object) -> Plan:
    return sample_plans.sample_plan(
        "torchtitan", options or Options(), layout=layout, train=train_of(**train)
    )


def emitted(options: Options | None = None, layout: Layout = FSDP, **train: object) -> Any:
    return BACKEND.emit(plan(options, layout, **train))


def toml(options: Options | None = None, layout: Layout = FSDP, **train: object) -> dict[str, Any]:
    return tomllib.loads(emitted(options, layout, **train)[TOML])


def asked(options: Options | None = None, model: Model = LLAMA3_8B, **train: object) -> Job:
    return sample_plans.sample_job(
        "torchtitan", options or Options(), model=model, train=train_of(**train), nodes=(8,)
    )


def messages(job: Job) -> list[tuple[str, str]]:
    return [(found.code, found.message) for found in TARGET.refuses(job)]


def test_a_pipeline_takes_the_mean_over_the_step_and_nothing_else_does() -> None:
    files = emitted(layout=PIPELINE)
    assert "repaired(original.pipelining_fn)" in files[MODEL]
    assert "torchtitan/parc_pipeline.py" in files
    assert "clipped" not in files[TOML]
    alone = emitted()
    assert "torchtitan/parc_pipeline.py" not in alone and "pipelining_fn" not in alone[MODEL]


@pytest.mark.parametrize("version", ["0.2.2", "0.3"])
def test_made_up_tokens_need_neither_files_nor_a_tokenizer(
    version: Literal["0.2.2", "0.3"],
) -> None:
    files = emitted(Options(version=version, data=Data()))
    assert "MadeUpTokens" in files[DATA] and "load_dataset" not in files[DATA]
    text = files.get(MODEL, files.get(JOB))
    assert "build_tokenizer_fn=None" in text or "NoTokenizer" in text
    assert "HF_ASSETS_PATH" not in files["torchtitan/launch.sh"]


def test_without_data_the_plan_says_that_tokens_are_made_up() -> None:
    for options, codes in ((Options(), ["PAR375"]), (Options(data=Data()), [])):
        assert [found.code for found in warnings(TARGET, asked(options))] == codes


def test_a_named_data_set_stays_torchtitans() -> None:
    files = emitted(Options(data=NAMED))
    assert tomllib.loads(files[TOML])["training"]["dataset"] == "c4"
    assert DATA not in files and "build_dataloader_fn" not in files[MODEL]
    assert "DATASET_PATH" in files["torchtitan/launch.sh"]


def test_a_file_is_registered_under_a_name() -> None:
    files = emitted(Options(data=FILES))
    training = tomllib.loads(files[TOML])["training"]
    assert (training["dataset"], training["dataset_path"]) == ("texts", "/data/a b.jsonl")
    assert 'DATASETS["texts"]' in files[DATA] and "import parc_data" in files[MODEL]


def test_a_blend_has_its_parts_and_weights() -> None:
    parts = [("c4", None), ("texts", "/data/texts")]
    text = emitted(Options(data=BLEND))[DATA]
    assert repr(parts).replace("'", '"') in text and "[0.7, 0.3]" in text
    job = emitted(Options(version="0.3", data=BLEND))[JOB]
    assert 'HFDataSource(dataset="texts", dataset_path="/data/texts", weight=0.3)' in job


def test_unknown_names_are_refused_with_the_known_ones() -> None:
    for options in (
        Options(data=Data(parts=(("c5", 1.0),))),
        Options(validation=Data(parts=(("pile", 1.0),))),
    ):
        ((code, message),) = messages(asked(options))
        assert code == "PAR390" and message.startswith("torchtitan does not know the data set")
    (found,) = TARGET.refuses(asked(Options(data=Data(parts=(("pile", 1.0),)))))
    assert found.help is not None and "c4_test" in found.help


def test_evaluation_needs_data() -> None:
    ((code, _),) = messages(asked(Options(eval_interval=50)))
    assert code == "PAR391"
    assert messages(asked(Options(eval_interval=50, validation=NAMED))) == []
    section = toml(Options(eval_interval=50, eval_iters=3, validation=Data()), PIPELINE)[
        "validation"
    ]
    assert section == {
        "enable": True,
        "dataset": "synthetic",
        "local_batch_size": 4,
        "seq_len": plan().job.train.seq_len,
        "freq": 50,
        "steps": 3,
    }  # fmt: skip
    assert "build_validator_fn=build_validator" in emitted(Options(validation=Data()))[MODEL]
    assert "validation" not in toml(Options(validation=Data(), eval_iters=0))
    python = emitted(Options(version="0.3", validation=Data(), eval_iters=3))[JOB]
    assert "validator=Validator.Config(" in python and "steps=3" in python


SCHEDULES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "cosine": ({"schedule": "cosine"}, {"decay_type": "cosine", "min_lr_factor": 0.1}),
    "linear": ({"schedule": "linear"}, {"decay_type": "linear", "min_lr_factor": 0.1}),
    "constant": ({"schedule": "constant"}, {"decay_ratio": 0.0}),
    "wsd": (
        {"schedule": "wsd", "decay_steps": 250, "decay_style": "sqrt"},
        {"decay_ratio": 0.25, "decay_type": "sqrt", "min_lr_factor": 0.1},
    ),
}


@pytest.mark.parametrize("name", SCHEDULES)
def test_schedules(name: str) -> None:
    asked, wanted = SCHEDULES[name]
    settings: dict[str, object] = {"tokens": None, "steps": 1000, "warmup": 50}
    section = toml(None, FSDP, **settings, **asked, min_learning_rate=3e-5)["lr_scheduler"]
    assert section == {"warmup_steps": 50, **wanted}


REFUSED: dict[str, dict[str, Any]] = {
    "ramp_from": {"ramp_from": 64, "ramp_tokens": 10**9},
    "exponential": {"schedule": "wsd", "decay_style": "exponential"},
    "keep_checkpoints": {"keep_checkpoints": 1},
    "gpt_oss": {"weights": "/w", "model": GPT_OSS},
    "Mixtral": {"weights": "/w", "model": MIXTRAL_8X7B},
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_the_trainer_lacks_is_refused_by_name(name: str) -> None:
    ((code, message),) = messages(asked(**REFUSED[name]))
    assert code == "PAR394" and name in message


def test_checkpoints_are_kept_and_written_as_asked() -> None:
    section = toml(keep_checkpoints=3, async_checkpoints=True)["checkpoint"]
    assert (section["keep_latest_k"], section["async_mode"]) == (3, "async")
    section = toml()["checkpoint"]
    assert (section["keep_latest_k"], section["async_mode"]) == (10, "disabled")
    assert toml(keep_checkpoints=0)["checkpoint"]["keep_latest_k"] == 0


def test_the_time_limit_of_collectives_holds_from_the_first_step() -> None:
    limits = toml(collective_timeout=1200.0)["comm"]
    assert limits == {"init_timeout_seconds": 1200, "train_timeout_seconds": 1200}


def test_a_profile_is_recorded_once_at_its_steps() -> None:
    options = Options(profile_start=10, profile_stop=12)
    assert toml(options)["profiling"] == {
        "enable_profiling": True,
        "profile_freq": 12,
        "profiler_warmup": 3,
        "profiler_active": 3,
    }
    assert "repeat=1" in emitted(options)[MODEL]
    python = emitted(options.model_copy(update={"version": "0.3"}))[JOB]
    assert "profiler_repeat=1" in python


def test_metrics_go_where_they_are_asked() -> None:
    options = Options(log_interval=5, tensorboard="/logs/tb", wandb="my $project")
    files = emitted(options)
    assert tomllib.loads(files[TOML])["metrics"] == {
        "log_freq": 5,
        "enable_tensorboard": True,
        "save_tb_folder": "/logs/tb",
        "enable_wandb": True,
    }
    assert "export WANDB_PROJECT=" in files["torchtitan/launch.sh"]


def test_weights_are_a_folder_or_fetched_by_name(tmp_path: Path) -> None:
    for weights, fetched in (("/models/llama", False), ("meta-llama/Llama-3.1-8B", True)):
        files = emitted(weights=weights)
        assert tomllib.loads(files[TOML])["checkpoint"]["initial_load_in_hf"] is True
        assert ("hf download" in files["torchtitan/launch.sh"]) == fetched


def test_the_launcher_hands_a_fetched_checkpoint_to_torchtitan(tmp_path: Path) -> None:
    """With stand-ins for `hf`, which prints the folder, and for torchrun, which prints its arguments."""
    files = emitted(weights="owner/name")
    script = tmp_path / "launch.sh"
    script.write_text(files["torchtitan/launch.sh"])
    (tmp_path / "run.json").write_text(files["torchtitan/run.json"])
    found = tmp_path / "snap shot"
    found.mkdir()
    for name, text in (("hf", f'echo "{found}"'), ("torchrun", 'printf "%s\\n" "$@"')):
        (tmp_path / name).write_text(f"#!/bin/sh\n{text}\n")
        (tmp_path / name).chmod(0o755)
    variables = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "HEALTH_CHECK": "0"}
    done = subprocess.run(
        ["bash", script], env=variables, capture_output=True, text=True, cwd=tmp_path
    )
    arguments = done.stdout.splitlines()
    assert f"--checkpoint.initial_load_path={found}" in arguments


EXTRA: list[tuple[str, object, str, object]] = [
    ("0.2.2", 1, "optimizer.eps", 1.0),
    ("0.2.2", 0.5, "activation_checkpoint.memory_budget", 0.5),
    ("0.2.2", "model, loader", "checkpoint.exclude_from_loading", ["model", "loader"]),
    ("0.2.2", 2.0, "metrics.log_freq", 2),
]


@pytest.mark.parametrize(("version", "value", "key", "written"), EXTRA)
def test_extra_has_the_kind_that_torchtitan_takes(
    version: Literal["0.2.2", "0.3"], value: Any, key: str, written: object
) -> None:
    section, _, name = key.rpartition(".")
    found = toml(Options(version=version, extra={key: value}))[section][name]
    assert found == written and type(found) is type(written)


WRONG: list[tuple[Literal["0.2.2", "0.3"], str, Any, str]] = [
    ("0.2.2", "optimizer.eps", "small", "takes a number"),
    ("0.2.2", "metrics.log_freq", 1.5, "takes a whole number"),
    ("0.2.2", "debug.deterministic", 1, "takes true or false"),
    ("0.2.2", "optimizer.implementation", "fast", "takes one of for-loop, foreach, fused"),
    ("0.2.2", "metrics.log_freq", "int", "takes a whole number"),
    ("0.2.2", "activation_checkpoint.memory_budget", "0.5", "takes a number, not in quotes"),
    ("0.3", "checkpoint.interval", True, "takes a whole number"),
]


@pytest.mark.parametrize(("version", "key", "value", "said"), WRONG)
def test_extra_of_another_kind_is_refused(
    version: Literal["0.2.2", "0.3"], key: str, value: Any, said: str
) -> None:
    ((code, message),) = messages(asked(Options(version=version, extra={key: value})))
    assert code == "PAR393" and said in message


def test_settings_that_moved_are_taken_at_their_new_place_and_named_at_the_old() -> None:
    python = emitted(Options(version="0.3", extra={"dataloader.num_workers": 2}))[JOB]
    assert "num_workers=2" in python
    assert messages(asked(Options(version="0.3", extra={"validator.enable": True}))) == []
    for version, key, place in (
        ("0.3", "parallelism.enable_async_tensor_parallel", "compile.enable_async_tensor_parallel"),
        ("0.2.2", "validator.enable", "validation.enable"),
    ):
        options = Options.model_validate({"version": version, "extra": {key: True}})
        (found,) = TARGET.refuses(asked(options))
        assert found.code == "PAR365" and found.help is not None and place in found.help


@pytest.mark.parametrize("version", ["0.2.2", "0.3"])
def test_emitted_python_parses(version: Literal["0.2.2", "0.3"]) -> None:
    for data in (Data(), FILES, BLEND):
        for validation in (None, Data(), BLEND):
            options = Options(version=version, data=data, validation=validation)
            for path, text in emitted(options, PIPELINE).items():
                if path.endswith(".py"):
                    ast.parse(text)
