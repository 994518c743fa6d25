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

from ...facts.launched_job import LaunchedJob
from ...finding import Complaint
from ...rows import complaints

CODE = "PAR417"
TITLE = "NVMe offload without its folder"
SEVERITY = "error"
SOURCE = "DeepSpeed 0.19.8: accepted without the path"
FILE = "ds_config.json"


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    yield from complaints("deepspeed", CODE, launch)
