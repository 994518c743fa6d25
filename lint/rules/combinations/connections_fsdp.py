"""FSDP overlaps its gathers with computation only when CUDA_DEVICE_MAX_CONNECTIONS is unset or above 1.

Why:
Megatron-LM asserts it; torchtitan and others run slowly without a word. The setting is often copied from a
script for tensor parallelism.

Bad:
export CUDA_DEVICE_MAX_CONNECTIONS=1
torchrun --nproc-per-node 8 pretrain_gpt.py --use-megatron-fsdp --ckpt-format fsdp_dtensor

Good:
torchrun --nproc-per-node 8 pretrain_gpt.py --use-megatron-fsdp --ckpt-format fsdp_dtensor
"""

from collections.abc import Iterator

from ....reading.facts import text_of
from ...facts.launched_job import LaunchedJob
from ...finding import Complaint, Related
from .connections_missing import FSDP, NAME_OF_VARIABLE

CODE = "PAR305"
TITLE = "FSDP with CUDA_DEVICE_MAX_CONNECTIONS=1"
SEVERITY = "error"
STOPS = "megatron"
SOURCE = (
    "NVIDIA/Megatron-LM@d98e8a64 megatron/training/arguments.py:1049, :1144; "
    "verl-project/verl#6976"
)


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    at = launch.setting("environment", NAME_OF_VARIABLE)
    fsdp = launch.option(*FSDP)
    if at is None or text_of(at) != "1":
        return
    message = f"FSDP with {NAME_OF_VARIABLE}=1: gathers cannot overlap the computation"
    if fsdp is not None:
        yield Complaint(message, at, (Related(fsdp.name, fsdp),), f"unset {NAME_OF_VARIABLE}")
    elif launch.framework == "torchtitan":
        yield Complaint(message, at, help=f"unset {NAME_OF_VARIABLE}", severity="warning")
