"""Options of parc's own train.py -> the settings of the `target accelerate` block that would write them."""

from typing import Any

from ....dsl.settings import Data, token_dtype
from ....reading.facts import LaunchConfig, Setting, number_of, text_of
from ...described import known
from ...huggingface.option_rows import ACCELERATE, TRAINER
from ...run_folder import below
from ..emit.arguments import DECAYS
from ..options import Options
from .described import model

#: Arguments that every job of parc has, or that follow from its settings.
_WRITTEN = frozenset(
    {
        "dtype", "attn_implementation", "use_peft", "lora_r", "lora_alpha", "lora_dropout",
        "lora_target_modules", "load_in_4bit", "token_type", "remove_unused_columns", "disable_tqdm",
        "report_to", "run_name", "ddp_timeout", "logging_steps", "compute_environment", "same_network",
        "rdzv_backend", "model_config", "data", "model_name_or_path", "output_dir", "config",
    }
)  # fmt: skip
_SECTIONS = (
    "gradient_checkpointing_kwargs",
    "dataset_kwargs",
    "accelerator_config",
    "lr_scheduler_kwargs",
    "lora_target_modules",
)


#: Arguments of which a job says these values alone.
_VALUES = {
    "lr_scheduler_type": ("warmup_stable_decay", "constant_with_warmup"),
    "lr_scheduler_kwargs.decay_type": (*DECAYS.values(),),
    "optim": ("adamw_torch_fused",),
    "dtype": ("bfloat16",),
    "bnb_4bit_quant_type": ("nf4",),
    "bnb_4bit_quant_storage": ("bfloat16",),
    "use_bnb_nested_quant": ("True",),
}


def options(config: LaunchConfig) -> dict[str, Any]:
    """Settings of the target block that differ from its defaults."""
    data = text_of(config.option("--data"))
    saves = text_of(config.setting("yaml", "save_strategy")) != "no"
    folder = below(text_of(config.option("--output-dir")), config)
    found: dict[str, Any] = known(
        data=None if data is None else Data(parts=((data, 1.0),)),
        data_dtype=_token_type(config),
        log_interval=number_of(config.setting("yaml", "logging_steps")),
    )
    found |= known(save=folder) if saves else {"save": None}
    defaults = Options.model_fields
    return {name: value for name, value in found.items() if value != defaults[name].default}


def _token_type(config: LaunchConfig) -> str | None:
    """The type of token ids where it is not the one that the vocabulary implies."""
    written = text_of(config.setting("yaml", "token_type"))
    vocab = model(config).get("vocab")
    return None if vocab is None or written == token_dtype(vocab) else written


def expressed(config: LaunchConfig, setting: Setting) -> bool | None:
    """Whether a job says an argument; None where its values tell."""
    name = setting.name.lstrip("-").replace("-", "_")
    if name in _VALUES and text_of(setting) not in _VALUES[name]:
        return None
    if name in _VALUES or name in _WRITTEN or name.startswith(_SECTIONS):
        return True
    return True if name in TRAINER.by_name or name in ACCELERATE.by_name else None
