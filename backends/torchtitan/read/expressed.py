"""Settings of torchtitan that a job says with some of their values alone, for `parc import`."""

from collections.abc import Mapping

from ....reading.facts import LaunchConfig, Setting, text_of
from ..emit.sections import OVERLAP
from ..option_rows import ROWS
from .target_block import BLEND

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
    "parallelism.module_fqns_per_model_part": (),
    "parallelism.pipeline_parallel_first_stage_less_layers": (),
    "parallelism.pipeline_parallel_last_stage_less_layers": (),
    "parallelism.pipeline_parallel_layers_per_stage": (),
    "training.dataset": ("texts",),
    "training.disable_cuda_graphs": (),
    "training.local_batch_size": (),
    "training.mixed_precision_param": ("bfloat16",),
}
_MODEL = ("model.name", "model.flavor")


def says(config: LaunchConfig, setting: Setting) -> bool | None:
    """Whether a job says a setting or an option, with this value; None where its values tell."""
    names, text = {setting.name, setting.name.replace("_", "-")}, text_of(setting)
    row = next((row for row in ROWS.rows if names & {*row.names}), None)
    if setting.name == OVERLAP and text in ("False", "false"):
        return True
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
