"""A variable for the programs that a script starts is set and not exported.

Why:
An assignment without `export` stays in the shell: torchrun and Python do not see it, unless the variable was
exported before, as SLURM does with CUDA_VISIBLE_DEVICES.

Bad:
OMP_NUM_THREADS=8
torchrun --nproc-per-node 8 train.py

Good:
export OMP_NUM_THREADS=8
torchrun --nproc-per-node 8 train.py
"""

from collections.abc import Iterator

from ....reading.bash.commands.launching import LAUNCHERS, PYTHONS, TRAINERS
from ....reading.bash.trace import TracedCommand
from ...facts.batch import batches
from ...facts.commands import literal
from ...facts.launched_job import LaunchedJob
from ...finding import Complaint, Place

CODE = "PAR810"
TITLE = "a variable for programs that is not exported"
SEVERITY = "warning"
SOURCE = "bash(1), ENVIRONMENT; POSIX 2.9.1"
SINCE = "2026-12"

#: Read by programs alone: torch, NCCL, the libraries of Hugging Face, OpenMP.
_NAMES_WORDS = """CUDA_VISIBLE_DEVICES OMP_NUM_THREADS MKL_NUM_THREADS CUDA_DEVICE_MAX_CONNECTIONS
    CUDA_LAUNCH_BLOCKING NCCL_DEBUG NCCL_IB_DISABLE NCCL_P2P_DISABLE NCCL_SOCKET_IFNAME NCCL_IB_HCA
    NCCL_TIMEOUT NCCL_ASYNC_ERROR_HANDLING TORCH_NCCL_ASYNC_ERROR_HANDLING PYTORCH_CUDA_ALLOC_CONF
    TORCH_DISTRIBUTED_DEBUG TOKENIZERS_PARALLELISM HF_HUB_ENABLE_HF_TRANSFER HF_DATASETS_OFFLINE
    TRANSFORMERS_OFFLINE HF_HUB_OFFLINE WANDB_MODE WANDB_DISABLED HYDRA_FULL_ERROR
    VLLM_ATTENTION_BACKEND VLLM_WORKER_MULTIPROC_METHOD ASCEND_RT_VISIBLE_DEVICES HCCL_CONNECT_TIMEOUT"""
_NAMES = frozenset(_NAMES_WORDS.split())
#: What programs do anyway.
_DEFAULTS = (("WANDB_MODE", "online"), ("WANDB_DISABLED", "false"))
_STARTS = LAUNCHERS | PYTHONS | TRAINERS.keys() | {"srun"}


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    made, trace = launch.config.assignments, launch.config.trace
    used = {each.name for each in launch.config.reads} | {
        each.name for each in made if each.exported
    }
    if any(map(_exports_all, trace)):
        return
    first = {(each.place[0], each.name): each for each in reversed(made)}
    for each in sorted(first.values(), key=lambda each: each.place):
        name = each.name
        if name not in _NAMES or name in used or (name, literal(each)) in _DEFAULTS:
            continue
        if _reaches(launch, name) or not any(map(_starts, trace[each.before :])):
            continue
        message = f"{name} is set and not exported: no program sees it"
        yield Complaint(message, Place(*each.place, len(name)), help=f"export {name}=")


def _exports_all(command: TracedCommand) -> bool:
    """Whether the command is `set -a`."""
    options = [word.lead for word in command.words[1:]] if command.programs[-1] == "set" else []
    return any(each == "allexport" or each[:1] == "-" and "a" in each for each in options)


def _starts(command: TracedCommand) -> bool:
    return not _STARTS.isdisjoint(command.programs)


def _reaches(launch: LaunchedJob, name: str) -> bool:
    """Whether a program sees the variable all the same: SLURM exports that of the job's GPUs, and an option
    of docker or of srun may name it."""
    if name == "CUDA_VISIBLE_DEVICES" and any(True for _ in batches(launch)):
        return True
    words = (word for each in launch.config.trace for words in each.wrappers for word in words)
    return any(name in word.lead for word in words)
