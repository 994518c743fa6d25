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

from ....reading.facts import number_of, text_of
from ...facts.launched_job import LaunchedJob
from ...finding import Complaint, Related

CODE = "PAR405"
TITLE = "offload at a ZeRO stage that does not divide what it moves"
SEVERITY = "error"
SOURCE = "DeepSpeed 0.19.8 runtime/zero/config.py accepts it, runtime/engine.py ignores it"
FILE = "ds_config.json"


STAGE = "zero_optimization.stage"
LEAST = {"offload_param": 3, "offload_optimizer": 1}


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    at = launch.key(STAGE)
    stage = 0 if at is None else number_of(at)
    if stage is None:
        return
    related = (Related(f"stage {stage}", at),) if at else ()
    for section, least in LEAST.items():
        device = launch.key(f"zero_optimization.{section}.device")
        if device is not None and text_of(device) in ("cpu", "nvme") and stage < least:
            message = f"{section} needs stage {least}, and the stage is {stage}"
            yield Complaint(message, device, related, f'"stage": {least}')
    ratio = launch.key("zero_optimization.offload_optimizer.ratio")
    if ratio is not None and stage < 3 and (text_of(ratio) or "1") not in ("1", "1.0"):
        yield Complaint(f"partial offload needs stage 3, and the stage is {stage}", ratio, related)
