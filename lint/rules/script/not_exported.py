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

import re
from collections.abc import Iterator

from ...facts.launched_job import LaunchedJob
from ...finding import Complaint, Place

CODE = "PAR810"
TITLE = "a variable for programs that is not exported"
SEVERITY = "warning"
SOURCE = "bash(1), ENVIRONMENT; POSIX 2.9.1"
SINCE = "2026-12"

#: Read by programs alone: torch, NCCL, the libraries of Hugging Face, OpenMP.
_NAMES = """CUDA_VISIBLE_DEVICES OMP_NUM_THREADS MKL_NUM_THREADS CUDA_DEVICE_MAX_CONNECTIONS
    CUDA_LAUNCH_BLOCKING NCCL_DEBUG NCCL_IB_DISABLE NCCL_P2P_DISABLE NCCL_SOCKET_IFNAME NCCL_IB_HCA
    NCCL_TIMEOUT NCCL_ASYNC_ERROR_HANDLING TORCH_NCCL_ASYNC_ERROR_HANDLING PYTORCH_CUDA_ALLOC_CONF
    TORCH_DISTRIBUTED_DEBUG TOKENIZERS_PARALLELISM HF_HUB_ENABLE_HF_TRANSFER HF_DATASETS_OFFLINE
    TRANSFORMERS_OFFLINE HF_HUB_OFFLINE WANDB_MODE WANDB_DISABLED HYDRA_FULL_ERROR
    VLLM_ATTENTION_BACKEND VLLM_WORKER_MULTIPROC_METHOD ASCEND_RT_VISIBLE_DEVICES HCCL_CONNECT_TIMEOUT"""
_SET = re.compile(rf"^[ \t]*({'|'.join(_NAMES.split())})=[^\s\\]*[ \t]*(?:#.*)?$")
#: Characters of a line that are searched.
_LONGEST = 2000
#: What programs do anyway.
_DEFAULTS = ("WANDB_MODE=online", "WANDB_DISABLED=false")
_STARTS = re.compile(
    r"^(?!#).*\b(?:torchrun|accelerate|deepspeed|python3?|srun|llamafactory-cli)\b",
    re.MULTILINE,
)
_ALL = re.compile(r"^[ \t]*set[ \t]+(?:-\w*a|-o\s+allexport)", re.MULTILINE)


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    whole = "\n".join(launch.config.texts.values())
    if _ALL.search(whole):
        return
    before, seen = "", set[tuple[str, str]]()
    for path, number, line in launch.lines():
        found = None if before.endswith("\\") else _SET.match(line)
        before = line
        if found is None or (path, found[1]) in seen or _is_default(line):
            continue
        seen.add((path, found[1]))
        if _lost(launch, found[1], path, number, whole):
            place = Place(path, number, found.start(1) + 1, len(found[1]))
            message = f"{found[1]} is set and not exported: no program sees it"
            yield Complaint(message, place, help=f"export {found[1]}=")


def _is_default(line: str) -> bool:
    return line.split("#")[0].strip().replace('"', "") in _DEFAULTS


def _lost(launch: LaunchedJob, name: str, path: str, number: int, whole: str) -> bool:
    """Whether nothing exports or reads a variable, and the script goes on to start a program."""
    if name == "CUDA_VISIBLE_DEVICES" and "#SBATCH" in whole:
        return False
    rest = "\n".join(launch.config.texts[path].split("\n")[number:])
    if not _STARTS.search(rest):
        return False
    exported = r"\b(?:export|declare|typeset)\b|(?:-e|--env|--export)[ =]"
    used = re.compile(rf"\$\{{?{name}\b|^(?>.*?(?:{exported})).*\b{name}\b")
    return not any(used.search(each[:_LONGEST]) for each in whole.split("\n") if name in each)
