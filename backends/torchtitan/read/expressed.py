"""Settings of torchtitan that a job says with some of their values alone, for `parc import`."""

from collections.abc import Mapping

from ....reading.facts import LaunchConfig, Setting, text_of
from ..emit.running import WARM
from ..emit.sections import OVERLAP
from ..option_rows import ROWS
from .target_block import BLEND, options

#: What parc writes whatever the job says, and what says nothing beside the other settings, with the values of
#: which that holds; empty for any.
_NEUTRAL: Mapping[str, tuple[str, ...]] = {
    "activation_checkpoint.selective_ac_option": ("op",),
    "checkpoint.async_mode": ("disabled",),
    "comm.init_timeout_seconds": (),
    "comm.train_timeout_seconds": (),
    "experimental.custom_import": ("parc_model",),
    "metrics.enable_tensorboard": ("False", "false"),
    "metrics.enable_wandb": ("False", "false"),
    "metrics.save_tb_folder": (),
    "parallelism.context_parallel_rotate_method": ("allgather", "alltoall"),
    "parallelism.module_fqns_per_model_part": (),
    "parallelism.pipeline_parallel_first_stage_less_layers": (),
    "parallelism.pipeline_parallel_last_stage_less_layers": (),
    "parallelism.pipeline_parallel_layers_per_stage": (),
    "training.dataset": ("texts",),
    "training.disable_cuda_graphs": (),
    "training.local_batch_size": (),
    "training.mixed_precision_param": ("bfloat16",),
}
#: Classes of the parts of a configuration in Python that parc writes, and arguments with them.
_CLASSES = frozenset(
    (
        "Trainer", "SelectiveAC", "FullAC", "NoAC", "CheckpointManager", "CommConfig", "CompileConfig",
        "DebugConfig", "get", "float", "HuggingFaceTextDataLoader", "MadeUpLoader", "ChunkedLossWrapper",
        "CrossEntropyLoss", "LRSchedulersContainer", "MetricsProcessor", "OptimizersContainer",
        "ParallelismConfig", "Profiler", "TrainingConfig", "Validator", "NoTokenizer",
    )  # fmt: skip
)
_ALWAYS: Mapping[str, str | None] = {
    "dataloader.dataset": "texts",
    "loss.loss_fn.global_vocab_size": None,
    "profiler.profiler_repeat": "1",
    "training.max_norm.0": "inf",
}
_MODEL = ("model.name", "model.flavor")
#: Keys of [validation] that a job says.
_EVALUATION = ("enable", "dataset", "dataset_path", "local_batch_size", "seq_len", "freq", "steps")


def says(config: LaunchConfig, setting: Setting) -> bool | None:
    """Whether a job says a setting or an option, with this value; None where its values tell."""
    names, text = {setting.name, setting.name.replace("_", "-")}, text_of(setting)
    row = next((row for row in ROWS.rows if names & {*row.names}), None)
    if setting.scope == "argument" and config.setting("toml", setting.name.removeprefix("--")):
        return True  # it stands among the keys, too, and is judged as one
    if setting.name == OVERLAP and text in ("False", "false"):
        return True
    if setting.scope == "python" and _is_structure(config, setting):
        return True
    if (said := _evaluates(config, setting)) is not None:
        return said
    if setting.scope not in ("argument", "toml", "python") or row is None or row.owner == "other":
        return None
    if row.lost or (setting.name == "training.dataset" and text == BLEND):
        return False
    if row.owner in ("chosen", "watched"):
        return True
    if row.name in _MODEL:
        return config.number("layers") is not None
    allowed = _NEUTRAL.get(row.name)
    return True if allowed is not None and (not allowed or text in allowed) else None


def _is_structure(config: LaunchConfig, setting: Setting) -> bool:
    """Whether an argument in Python is what every configuration has: the class of a part, the name of a
    variable, the model, which is read as a whole."""
    name, text = setting.name, text_of(setting)
    owner, _, last = name.rpartition(".")
    if last == "()":
        return text in _CLASSES or owner.startswith("model_spec")
    if name.startswith("model_spec."):
        return config.number("layers") is not None
    if last == "1" and config.setting("environment", owner.upper()) is not None:
        return True
    if last == "0":
        return text_of(config.setting("python", f"{owner}.()")) == "get"
    return name in _ALWAYS and _ALWAYS[name] in (None, text)


def _evaluates(config: LaunchConfig, setting: Setting) -> bool | None:
    """Whether a setting of evaluation or of the profiler is what parc writes; None for any other one."""
    section, _, key = setting.name.partition(".")
    if section in ("profiling", "profiler") and key == "profiler_warmup":
        first = options(config).get("profile_start")
        return first is not None and text_of(setting) == str(min(WARM, first - 1))
    if section != "validation" or setting.scope != "toml" or key not in _EVALUATION:
        return None
    if text_of(config.setting("toml", "validation.enable")) != str(True):
        return False
    if key in ("local_batch_size", "seq_len"):
        return text_of(setting) == text_of(config.setting("toml", f"training.{key}"))
    return options(config).get("validation") is not None
