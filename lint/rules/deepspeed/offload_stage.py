"""Offload of the weights works with ZeRO 3 alone, offload of the optimizer from ZeRO 1 on; partial offload
(`ratio` below 1) needs ZeRO 3.

Why:
DeepSpeed accepts the pair and does not offload, so the job runs out of memory that it was meant to save.

Bad:
{
  "train_micro_batch_size_per_gpu": 1,
  "zero_optimization": {"stage": 2, "offload_param": {"device": "cpu"}}
}

Good:
{
  "train_micro_batch_size_per_gpu": 1,
  "zero_optimization": {"stage": 3, "offload_param": {"device": "cpu"}}
}
"""

from collections.abc import Iterator
from dataclasses import replace

from ....dsl.diagnostics import Severity
from ...facts.launched_job import LaunchedJob
from ...finding import Complaint
from ...rows import complaints

CODE = "PAR405"
TITLE = "offload at a ZeRO stage that does not shard what is offloaded"
SEVERITY: Severity = "error"
SOURCE = "DeepSpeed 0.19.8 runtime/zero/config.py accepts it, runtime/engine.py ignores it"
FILE = "ds_config.json"


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    """Memory that was to be saved is not: an error, though DeepSpeed starts."""
    for complaint in complaints("deepspeed", CODE, launch):
        yield replace(complaint, severity=SEVERITY)
