"""The option is parsed and then ignored.

Why:
The job trains, but not as its script says. A batch ramp that does not happen changes the loss curve.

Bad:
torchrun --nproc-per-node 8 pretrain_gpt.py --num-layers 32 --global-batch-size 1024 \\
    --rampup-batch-size 128 128 1000000

Good:
torchrun --nproc-per-node 8 pretrain_gpt.py --num-layers 32 --step-batch-size-schedule "0:128 1B:1024"
"""

from collections.abc import Iterator
from dataclasses import replace

from ...facts.launched_job import LaunchedJob
from ...finding import Complaint
from ...rows import complaints

CODE = "PAR313"
TITLE = "an option that Megatron-LM parses and ignores"
SEVERITY = "info"
OPTIONS = ("--framework-version", "megatron=0.19")
SOURCE = (
    "NVIDIA/Megatron-LM@d98e8a64 megatron/training/global_vars.py, arguments.py; accepted by "
    "the validators of 0.18.0, 0.19.2 and 0.20"
)


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    """Which release runs is not in the script: only a named one makes this a warning."""
    version = launch.versions.get("megatron")
    if launch.megatron and version is not None:
        for complaint in complaints("megatron", CODE, launch):
            yield replace(complaint, message=f"{complaint.message} by Megatron-LM {version}")
