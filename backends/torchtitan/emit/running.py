"""Plan -> tables of how a run goes: learning rate, checkpoints, time limits, metrics, evaluation, profile."""

import math
from collections.abc import Iterator

from ....compiler.plan import Plan
from ....dsl.settings import Data
from ...observation import BOARD, FOLDER, curves, log_interval
from ...timeouts import first_seconds, later_seconds
from .. import data
from ..options import Options, options_of
from .section import Section, Setting

#: Steps that PyTorch's profiler runs along before it records.
WARM = 3


def schedule(plan: Plan) -> Section:
    """The rate of step s (from 1) of S: s / warmup of the highest; high; then, over the last D steps,
    progress (s - 1 - (S - D)) / D of the way down (0.2.2 components/lr_scheduler.py:150)."""
    train = plan.job.train
    settings: dict[str, Setting] = {"warmup_steps": train.warmup_steps}
    comments = {"min_lr_factor": f"falls towards {train.min_learning_rate:g}"}
    if train.schedule == "constant":
        comments = {"decay_ratio": "constant after warmup"}
        return Section("lr_scheduler", settings | {"decay_ratio": 0.0}, comments)
    if train.schedule == "wsd":
        settings["decay_ratio"] = train.wsd_steps / train.total_steps
        comments["decay_ratio"] = f"falls in the last {train.wsd_steps:,} steps"
    settings |= {
        "decay_type": train.decay_style if train.schedule == "wsd" else train.schedule,
        "min_lr_factor": min(1.0, train.min_learning_rate / train.learning_rate),
    }
    return Section("lr_scheduler", settings, comments)


def checkpoint(plan: Plan) -> Section:
    train, options = plan.job.train, options_of(plan.job)
    keep = plan.checkpoints.keep
    settings: dict[str, Setting] = {
        "enable": options.save,
        "folder": options.checkpoint,
        "interval": plan.checkpoint_interval,
        "keep_latest_k": keep,
        "last_save_model_only": False,
        "async_mode": "async" if train.async_checkpoints else "disabled",
    }
    comments = {
        "interval": "steps",
        "last_save_model_only": "the last one can be resumed too",
        "keep_latest_k": "the newest that stay" if keep else "all stay",
    }
    if train.async_checkpoints:
        comments["async_mode"] = "training goes on while one is written"
    if plan.job.previous:
        alone = train.carry == "weights"
        settings["initial_load_model_only"] = alone
        comments["initial_load_model_only"] = (
            "begins with another stage's weights, at step 1"
            if alone
            else f"goes on after another stage's step {plan.job.steps_before:,}"
        )
    if train.weights is not None:
        settings["initial_load_in_hf"] = True
        comments["initial_load_in_hf"] = "starts from Hugging Face's weights in $WEIGHTS"
    return Section("checkpoint", settings, comments)


def communication(plan: Plan) -> Section:
    """Seconds after which a collective that hangs ends the job; torchtitan's own 100 are less than many
    a step takes."""
    settings: dict[str, Setting] = {
        "init_timeout_seconds": math.ceil(first_seconds(plan)),
        "train_timeout_seconds": math.ceil(later_seconds(plan)),
    }
    comments = {
        "init_timeout_seconds": "until the first step ends",
        "train_timeout_seconds": "afterwards a collective that hangs so long ends the job",
    }
    return Section("comm", settings, comments)


def metrics(plan: Plan) -> Section:
    options = options_of(plan.job)
    settings: dict[str, Setting] = {"log_freq": log_interval(plan)}
    comments = {"log_freq": "steps between log lines"}
    board, project = curves(plan.job, options)
    if board is not None:
        folder = FOLDER if board == BOARD else board
        settings |= {"enable_tensorboard": True, "save_tb_folder": folder}
        comments["save_tb_folder"] = "below dump_folder unless absolute"
    if project is not None:
        settings["enable_wandb"] = True
        comments["enable_wandb"] = "needs `pip install wandb`; launch.sh sets the project"
    return Section("metrics", settings, comments)


def profile(plan: Plan, name: str) -> Iterator[Section]:
    """PyTorch's profiler waits, warms up and records, `profile_freq` steps in all (tools/profiling.py:57)."""
    steps = options_of(plan.job).profiled
    if steps is None:
        return
    first, last = steps
    settings: dict[str, Setting] = {
        "enable_profiling": True,
        "profile_freq": last,
        "profiler_warmup": min(WARM, first - 1),
        "profiler_active": last - first + 1,
    }
    if name == "profiler":
        settings["profiler_repeat"] = 1
    yield Section(name, settings, {"profile_freq": f"records steps {first} to {last}, once"})


def evaluation(plan: Plan, options: Options) -> Iterator[Section]:
    """Section [validation] of 0.2.2; its batches are as large as training's, for which stages are made."""
    if not data.evaluates(options) or options.validation is None:
        return
    train, layout = plan.job.train, plan.layout
    settings, comments = dataset(options.validation)
    settings |= {
        "local_batch_size": layout.micro_batch * (layout.microbatches if layout.pp > 1 else 1),
        "seq_len": train.seq_len,
        "freq": options.eval_interval,
        "steps": options.eval_iters,
    }
    comments |= {"freq": "and after the first step", "steps": "of one evaluation"}
    yield Section("validation", {"enable": True, **settings}, comments)


def evaluator(options: Options) -> Iterator[Section]:
    """How often 0.3.0 evaluates; its data stand in the data loader of the section."""
    if data.evaluates(options):
        settings: dict[str, Setting] = {
            "enable": True,
            "freq": options.eval_interval,
            "steps": options.eval_iters,
        }
        comments = {"freq": "and after the first step", "steps": "of one evaluation"}
        yield Section("validator", settings, comments)


def dataset(chosen: Data | None) -> tuple[dict[str, Setting], dict[str, str]]:
    """Keys of [training] and [validation] that name the data, with comments."""
    kind = data.kind(chosen)
    if kind == "synthetic":
        return {"dataset": "synthetic"}, {"dataset": "made-up tokens of parc_data.py"}
    if kind == "blend":
        return {"dataset": "blend"}, {"dataset": "the blend in parc_data.py"}
    (source,) = data.sources(chosen or Data())
    if source.path is None:
        return {"dataset": source.name}, {}
    comments = {"dataset": "rows with a `text`, loaded by parc_data.py"}
    return {"dataset": source.name, "dataset_path": source.path}, comments
