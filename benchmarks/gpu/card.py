"""The GPU of this machine, asked in processes of their own: no context of the asker takes memory from it."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable

from benchmarks.accuracy.rows import gpu_names

#: Prints the name of the first GPU, and what would train on it.
ABOUT = """
import torch
from importlib.metadata import PackageNotFoundError, version
print(torch.cuda.get_device_name(0))
versions = [f"PyTorch {torch.__version__}", f"CUDA {torch.version.cuda}"]
try:
    versions.append("DeepSpeed " + version("deepspeed"))
except PackageNotFoundError:
    pass
print(", ".join(versions))
"""
MEMORY = ("nvidia-smi", "--id=0", "--query-gpu=memory.used", "--format=csv,noheader,nounits")
#: What an ended process may leave for good, in MiB, and how long the rest may take to go.
NOISE_MIB, WAIT_SECONDS = 100, 20


def about(program: str = ABOUT) -> tuple[str, str] | str:
    """Name and versions of the GPU, or why there is none."""
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    if ran.returncode:
        return (ran.stderr.strip().splitlines() or ["no output"])[-1]
    device, versions = ran.stdout.splitlines()[-2:]
    return device, versions


def in_library(program: str) -> tuple[str, str] | None:
    """The standard library's name of this machine's GPU, and its own with versions. None, with the reason on
    standard error in the words of `program`, where there is no GPU or the library does not know it.
    """
    found = about()
    if isinstance(found, str):
        print(f"{program}: no CUDA GPU: {found}", file=sys.stderr)
        return None
    device, versions = found
    gpu = gpu_names.gpu_named(device)
    if gpu is None:
        print(f"{program}: the standard library has no `{device}`", file=sys.stderr)
        return None
    return gpu, f"{device}, {versions}"


def used_mib() -> int:
    """Memory in use on the GPU by anyone; 0 where the driver does not tell."""
    try:
        ran = subprocess.run(MEMORY, capture_output=True, text=True, timeout=WAIT_SECONDS)
        return int(ran.stdout)
    except (OSError, ValueError, subprocess.TimeoutExpired):
        return 0


def wait_until_empty(
    idle: int,
    used: Callable[[], int] = used_mib,
    sleep: Callable[[float], None] = time.sleep,
) -> bool:
    """Waits until ended processes have given back their memory; whether they have in `WAIT_SECONDS`.

    `idle` is the MiB in use before the first of them.
    """
    for _ in range(2 * WAIT_SECONDS):
        if used() <= idle + NOISE_MIB:
            return True
        sleep(0.5)
    return False
