"""Keys of accelerate's configuration that may not stand beside a DeepSpeed config."""

from ..deepspeed.option_rows import ROWS
from .option_rows import TRAINER

#: Keys of `deepspeed_config` that may not stand beside the file.
BESIDE_FILE = (
    TRAINER.fact("microbatches").name,
    ROWS.setting("train", "clip_grad").name,
    "zero_stage",
    "offload_optimizer_device",
    "offload_param_device",
    "offload_param_nvme_path",
    "offload_optimizer_nvme_path",
    "zero3_save_16bit_model",
)
