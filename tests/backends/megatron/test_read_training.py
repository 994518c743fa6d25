"""Emitted scripts and others -> the settings of the `train` and the `target` block."""

import pytest

from parc.backends.launch_files import read_jobs
from parc.backends.megatron import BACKEND
from parc.backends.megatron.options import Options
from parc.backends.megatron.read.described import DEFAULTS, SCHEDULE
from parc.backends.megatron.tensor_overlap import overlapped
from parc.backends.observation import log_interval
from parc.dsl.job import Train
from parc.dsl.settings import Data
from parc.reading.facts import LaunchConfig
from tests.support.megatron_plans import PLANS, arguments
from tests.support.read_back import read_back

READER = BACKEND.reader
#: What a script says of every training.
SAID = (
    "seq_len", "global_batch", "learning_rate", "schedule", "weight_decay", "beta1", "clip_grad",
    "decay_style", "warmup_steps", "wsd_steps", "total_steps", "ramp", "async_checkpoints", "seed",
)  # fmt: skip


def config_of(name: str) -> LaunchConfig:
    return read_back(BACKEND.emit(PLANS[name]))


@pytest.mark.parametrize("name", PLANS)
def test_training_is_read_back(name: str) -> None:
    config, train = config_of(name), PLANS[name].job.train
    given = {key: config.number(key) for key in ("seq_len", "global_batch")}
    found = Train.model_validate({**given, **READER.train(config)})
    differing = [key for key in SAID if getattr(found, key) != getattr(train, key)]
    assert differing == []


def test_retention_and_timeouts_are_read_back() -> None:
    found = READER.train(config_of("blend"))
    assert found["keep_checkpoints"] == 1 and found["async_checkpoints"] is True
    assert found["collective_timeout"] == 31 * 60


@pytest.mark.parametrize("name", PLANS)
def test_target_blocks_write_the_same_options(name: str) -> None:
    """Of the emitted options those of data, logging and profiles, written again from what was read."""
    plan = PLANS[name]
    found = READER.options(config_of(name))
    wanted = plan.options.model_copy(update={"extra": {}})
    again = Options(**{"path": wanted.path, **found})
    if wanted.tensorboard is None:
        again = again.model_copy(update={"tensorboard": None})
    if wanted.data is None and wanted.train_data is None:
        wanted = wanted.model_copy(update={"data": again.data})
    equal: dict[str, object] = {"profile_stop": again.profile_stop, "eval_iters": again.eval_iters}
    assert again.log_interval == log_interval(plan)
    equal["log_interval"] = again.log_interval
    if wanted.cp_comm is None:
        assert again.cp_comm == plan.estimate.cp_comm
        equal["cp_comm"] = again.cp_comm
    if wanted.tp_overlap is None:
        assert again.tp_overlap in (None, overlapped(plan.job))
        equal["tp_overlap"] = again.tp_overlap
    assert again == wanted.model_copy(update=equal)
    assert again.profiled == wanted.profiled


def config(text: str) -> LaunchConfig:
    words = "--num-layers 2 --hidden-size 64 --seq-length 1024 --micro-batch-size 1"
    return read_back({"run.sh": f"torchrun pretrain_gpt.py {words} {text}\n"})


@pytest.mark.parametrize(
    ("text", "train"),
    [
        (
            "--global-batch-size 64 --rampup-batch-size 16 16 6400 --train-samples 12800",
            {"ramp_from": 16, "ramp_tokens": 6400 * 1024, "steps": 345},
        ),
        ("--global-batch-size 64 --rampup-batch-size 16 8 6400", {}),
        ("--step-batch-size-schedule '0:16 1M:32 2M:48'", {"ramp_from": 16, "ramp_tokens": 2 * 10**6}),
        ("--step-batch-size-schedule '0:768 250B:1536 500B:3072'", {}),
        (
            "--global-batch-size 64 --train-samples 12801 --lr-warmup-samples 640",
            {"steps": 201, "warmup": 10},
        ),
        (
            "--lr-decay-style WSD --lr-wsd-decay-iters 5",
            {"schedule": "wsd", "decay_style": "exponential", "decay_steps": 5},
        ),
        ("--lr-decay-style inverse-square-root", {}),
        (
            "--train-iters 100 --save-interval 10 --save-retain-interval 50",
            {"steps": 100, "checkpoint_interval": 10},
        ),
    ],
)  # fmt: skip
def test_other_scripts(text: str, train: dict[str, object]) -> None:
    found = READER.train(config(text))
    unsaid = {**DEFAULTS, "schedule": SCHEDULE, "warmup": 0}
    assert found == (unsaid if "lr-decay-style" not in text else _without_schedule(unsaid)) | train


def _without_schedule(values: dict[str, object]) -> dict[str, object]:
    return {name: value for name, value in values.items() if name != "schedule"}


def test_other_programs_keep_their_defaults() -> None:
    (job,) = read_jobs({"run.sh": "deepspeed train.py --hidden-size 64 --lr 0.1\n"})
    assert READER.train(job) == {"learning_rate": 0.1}


def test_the_batch_is_the_last_of_a_schedule() -> None:
    assert config("--step-batch-size-schedule '0:16 1M:32 2M:48'").number("global_batch") == 48
    assert config("--step-batch-size-schedule nonsense").number("global_batch") is None


@pytest.mark.parametrize(
    ("text", "data"),
    [
        ("--data-path /a", (("/a", 1.0),)),
        ("--data-path 0.3 /a 0.7 /b", (("/a", 0.3), ("/b", 0.7))),
        ("--data-path /a /b", None),
        ("--data-path 0.3 /a $UNSET /b", None),
        ("--mock-data", ()),
    ],
)
def test_sources(text: str, data: tuple[tuple[str, float], ...] | None) -> None:
    found = READER.options(config(text)).get("data")
    assert found == (None if data is None else Data(parts=data))


def test_values_that_the_block_does_not_take_are_left_out() -> None:
    found = READER.options(config("--log-interval 0 --save x"))
    assert found == {"checkpoints": "x", "loss_kernel": "eager"}
    assert "--log-interval" in arguments(PLANS["dp"])
