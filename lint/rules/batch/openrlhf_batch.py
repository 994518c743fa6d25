"""OpenRLHF hands DeepSpeed a batch that the GPUs do not share: `--train_batch_size` is no multiple of
`--micro_train_batch_size` times the ranks.

Why:
The accumulation steps are found by whole division, and DeepSpeed checks the product: every rank stops in
`deepspeed.initialize`, with the model loaded.

Bad:
deepspeed --num_gpus 6 --module openrlhf.cli.train_sft \\
    --train_batch_size 256 --micro_train_batch_size 2

Good:
deepspeed --num_gpus 8 --module openrlhf.cli.train_sft \\
    --train_batch_size 256 --micro_train_batch_size 2
"""

import math
import re
from collections.abc import Iterator

from ....reading.facts import number_of
from ...facts.launched_job import LaunchedJob
from ...finding import Complaint, Related

CODE = "PAR210"
TITLE = "OpenRLHF cannot divide its batch"
SEVERITY = "error"
SOURCE = (
    "OpenRLHF/OpenRLHF@03ae817e openrlhf/utils/deepspeed/deepspeed.py, get_ds_train_config; "
    "OpenRLHF/OpenRLHF#346"
)
SINCE = "2026-12"
TRAINING = True
FILE = "train.sh"

TOTAL, MICRO = "--train-batch-size", "--micro-train-batch-size"
#: Programs whose whole world trains one model; those of PPO share it among several.
_PROGRAM = re.compile(r"openrlhf\.cli\.train_(?!ppo)(?!\w*_ray)\w+")
#: Options that multiply the batch, with which ranks share a sample.
_GROUPS = ("--ring-attn-size", "--ds-tensor-parallel-size")
#: With these the batch is none of samples.
_PACKED = ("--use-dynamic-batch",)


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    if not _PROGRAM.fullmatch(launch.config.program) or launch.given(*_PACKED):
        return
    total, micro = launch.option(TOTAL), launch.option(MICRO)
    groups = [number_of(launch.option(name)) if launch.given(name) else 1 for name in _GROUPS]
    samples, each, group = (
        number_of(total),
        number_of(micro),
        math.prod(size or 0 for size in groups),
    )
    # Where the nodes are not known, the ranks are a multiple of those of one.
    known = launch.number("gpus")
    ranks = known or launch.number("gpus_per_node")
    if total is None or micro is None or not (samples and each and group and ranks):
        return
    if samples * group % (each * ranks):
        where = f"{ranks} GPUs" if known else f"{ranks} GPUs of a node"
        batch = f"{samples} * {group}" if group > 1 else str(samples)
        message = f"a batch of {batch} is not a multiple of micro-batch {each} * {where}"
        related = [Related(f"micro-batch {each}", micro)]
        if gpus := launch.facts.get("gpus" if known else "gpus_per_node"):
            related.append(Related(where, gpus))
        yield Complaint(message, total, tuple(related), "a batch that the GPUs share")
