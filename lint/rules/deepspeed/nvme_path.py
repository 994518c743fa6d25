"""Offload to NVMe without the folder to use.

Why:
DeepSpeed loads the config and fails when it opens the first file.

Bad:
{
  "train_micro_batch_size_per_gpu": 1,
  "zero_optimization": {"stage": 3, "offload_param": {"device": "nvme"}}
}

Good:
{
  "train_micro_batch_size_per_gpu": 1,
  "zero_optimization": {"stage": 3, "offload_param": {"device": "nvme", "nvme_path": "/local_nvme"}}
}
"""

from collections.abc import Iterator

from ....reading.facts import text_of
from ...facts.launched_job import LaunchedJob
from ...finding import Complaint

CODE = "PAR417"
TITLE = "NVMe offload without its folder"
SEVERITY = "error"
SOURCE = "DeepSpeed 0.19.8: accepted without the path"
FILE = "ds_config.json"


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    for section in ("offload_param", "offload_optimizer"):
        device = launch.key(f"zero_optimization.{section}.device")
        path = launch.key(f"zero_optimization.{section}.nvme_path")
        if device is not None and text_of(device) == "nvme" and path is None:
            message = f"{section} to nvme has no nvme_path"
            yield Complaint(message, device, help='"nvme_path": "/local_nvme"')
