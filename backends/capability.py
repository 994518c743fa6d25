"""The generation of a GPU as PyTorch reports it, which frameworks ask for."""

import re

from ..dsl.job import Job

AMPERE = 80
HOPPER = 90
BLACKWELL = 100
#: Blackwell of GeForce and RTX PRO, without the tensor memory of the data centre's.
GEFORCE = 120


def compute_capability(arch: str) -> int:
    """90 for `sm90`, 100 for `sm100`; AMD's gfx942 counts as 94, which is how PyTorch reports it."""
    match = re.fullmatch(r"(?:sm|gfx)_?(\d{1,9})[a-z]*", arch)
    number = int(match[1]) if match else 0
    return number // 10 if arch.startswith("gfx") else number


def capability(job: Job) -> int:
    """The compute capability of the job's GPUs."""
    return compute_capability(job.cluster.gpu.arch)


def older_nvidia(job: Job, generation: int) -> bool:
    """Whether NVIDIA's GPUs of the job are older than a generation; those of other makers never are."""
    return job.cluster.gpu.vendor == "nvidia" and capability(job) < generation
