"""Keys of a DeepSpeed config and options of train.py that a job says with some of their values alone."""

from collections.abc import Mapping

from ....reading.facts import LaunchConfig, Setting, dashed, text_of
from ...huggingface.option_rows import option
from ...huggingface.trainer_yaml import PRECISIONS
from ...run_folder import is_of_the_run
from ..option_rows import ROWS
from .described import written
from .jobs import TRAINER

#: What parc writes whatever the job says, and what says nothing beside the other keys, with the values of
#: which that holds; empty for any.
_NEUTRAL: Mapping[str, tuple[str, ...]] = {
    "bf16.immediate_grad_update": ("True",),
    "data_types.grad_accum_dtype": ("fp32",),
    "fp16.initial_scale_power": ("16",),
    "fp16.loss_scale": ("0",),
    "optimizer.params.adam_w_mode": ("True",),
    "optimizer.params.eps": ("1e-08",),
    "seq_parallel_communication_data_type": ("bf16", "fp16"),
    "tensorboard.output_path": (),
    "zero_allow_untested_optimizer": (),
    "zero_optimization.offload_optimizer.device": ("cpu", "none"),
    "zero_optimization.offload_param.device": ("cpu", "none"),
    "zero_optimization.overlap_comm": (),
}


def says(config: LaunchConfig, setting: Setting) -> bool | None:
    """Whether a job says a key or an option, with this value; None where its values tell."""
    if _is_known(config, setting):
        return True
    allowed, text = _NEUTRAL.get(setting.name), text_of(setting)
    if allowed is not None and (not allowed or text in allowed):
        return True
    names = {setting.name, setting.name.replace("_", "-")}
    row = next((row for row in ROWS.rows if names & {*row.names}), None)
    if setting.scope not in ("argument", "json") or row is None or row.owner == "other":
        return None
    if row.owner in ("chosen", "watched") and not row.lost:
        return True
    if row.name == "--save" and is_of_the_run(setting):
        return True
    if row.name == "wandb.project" and written(config, "training").get("tracker") == "wandb":
        return True
    return None


def _is_known(config: LaunchConfig, setting: Setting) -> bool:
    """Whether an argument of a trainer repeats what the config says."""
    name, text = dashed(setting.name), text_of(setting)
    if name in (option(row.name) for row in PRECISIONS):
        precision = str(config.value("precision")).removesuffix("=True")
        return precision == name[2:] and (text or "true").lower() in ("true", "1", "yes")
    row = next((row for row in TRAINER if name in map(option, row.names)), None)
    return row is not None and text is not None and str(config.value(row.fact)) == text
