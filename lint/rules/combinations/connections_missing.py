"""With tensor or context parallelism Megatron-LM wants CUDA_DEVICE_MAX_CONNECTIONS=1, so that transfers
start in the order in which they overlap. Blackwell, other vendors' devices and FSDP_SWITCHES do without.

Why:
It is an assertion at start on Hopper and older GPUs. The image or the site may set the variable, so this is
a warning, and a hint where the script sources a file of the site that is not there to be read.

Bad:
torchrun --nproc-per-node 8 pretrain_gpt.py --train-iters 1000 --tensor-model-parallel-size 2 \\
    --num-attention-heads 32

Good:
export CUDA_DEVICE_MAX_CONNECTIONS=1
torchrun --nproc-per-node 8 pretrain_gpt.py --train-iters 1000 --tensor-model-parallel-size 2 \\
    --num-attention-heads 32
"""

import re
from collections.abc import Iterator

from ....backends.megatron.option_groups import EXCHANGE, FSDP_SWITCHES
from ....dsl.diagnostics import Severity
from ....reading.facts import text_of
from ...facts.launched_job import LaunchedJob
from ...finding import Complaint
from ..options.megatron_program import is_old

CODE = "PAR304"
TITLE = "CUDA_DEVICE_MAX_CONNECTIONS is not 1 under tensor or context parallelism"
SEVERITY = "warning"
SOURCE = (
    "NVIDIA/Megatron-LM@d98e8a64 megatron/training/arguments.py:1477; " "alibaba/Megatron-LLaMA#44"
)


NAME_OF_VARIABLE = "CUDA_DEVICE_MAX_CONNECTIONS"
_ACTIVATES = re.compile(r"conda|mamba|activate|bashrc|profile|/modules?/|lmod", re.IGNORECASE)
#: Says that the devices are not NVIDIA's, or newer than Hopper.
ELSEWHERE = re.compile(r"HPU|HABANA|habana|hpu|ROCM|ROCm|HIP_|MUSA|NPU|ASCEND|GB[23]00|B[23]00|XPU")


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    if (
        not launch.megatron
        or not launch.trains
        or launch.given(*FSDP_SWITCHES, EXCHANGE)
        or launch.given("--use-cpu-initialization")
        or _otherwise_spelled(launch)
    ):
        return
    if launch.cluster is not None and launch.cluster.gpu.arch.startswith("sm1"):
        return
    at = launch.setting("environment", NAME_OF_VARIABLE)
    wide = next((name for name in ("tp", "cp") if (launch.number(name) or 1) > 1), None)
    if wide is None or text_of(at) == "1" or (at is not None and text_of(at) is None):
        return
    if any(ELSEWHERE.search(text) for text in launch.config.texts.values()):
        return
    reads = any(NAME_OF_VARIABLE in text for text in launch.config.texts.values())
    if at is None and (reads or not launch.all("argument") or not launch.all("launcher")):
        return
    number = launch.number(wide)
    said = f"is {text_of(at)}" if at else "is not set"
    message = f"{NAME_OF_VARIABLE} {said}, and {wide} {number} needs 1 before Blackwell"
    mild = is_old(launch) or (at is None and _set_elsewhere(launch))
    severity: Severity | None = "info" if mild else None
    help_text = f"export {NAME_OF_VARIABLE}=1"
    yield Complaint(message, at or launch.facts[wide], help=help_text, severity=severity)


def _set_elsewhere(launch: LaunchedJob) -> bool:
    """Whether a file of the site's is sourced that is not there to be read; those of shells and of Python's
    environments set nothing of CUDA."""
    return any(each.sourced and not _ACTIVATES.search(each.reason) for each in launch.config.unread)


def _otherwise_spelled(launch: LaunchedJob) -> bool:
    """Whether the program takes `--num_layers`, as Megatron-LM's own parser does not: epfLLM's fork raises
    only for another value (megatron/arguments.py:340), and ms-swift sets the variable itself."""
    names = ("--num_layers", "--hidden_size", "--tensor_model_parallel_size", "--micro_batch_size")
    return any(setting.name in names for setting in launch.all("argument"))
