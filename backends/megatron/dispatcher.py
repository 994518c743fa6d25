"""The dispatcher of tokens to experts: NCCL, or the flex dispatcher with DeepEP or HybridEP.

DeepEP 1.2, csrc/kernels/configs.cuh, joins eight GPUs by NVLink; Megatron-Bridge's
training/flex_dispatcher_backend.py lists the generations that each was made for.
"""

from collections.abc import Iterator

from ...dsl.job import Job
from .. import refusals
from ..capability import AMPERE, GEFORCE, capability
from .options import asked, options_of

#: GPUs of one fast domain that DeepEP knows.
DEEPEP_DOMAIN = 8


def flex(job: Job, tp: int, ep: int) -> bool:
    """Whether a layout sends tokens by it: one rank has nobody to send to
    (core/transformer/moe/token_dispatcher.py:1770)."""
    return options_of(job).dispatcher != "alltoall" and tp * ep > 1


def problems(job: Job) -> Iterator[str]:
    """Why the job cannot have the dispatcher that it names."""
    name, gpu = options_of(job).dispatcher, job.cluster.gpu
    if name == "alltoall":
        return
    said = f"`dispatcher = {name}`"
    if not job.model.moe:
        yield f"{said} with a model without experts"
    if gpu.vendor != "nvidia" or not AMPERE <= capability(job) < GEFORCE:
        yield f"{said} runs on NVIDIA's Ampere, Hopper and Blackwell, not on {refusals.gpu_name(job)}"
    if name == "deepep" and job.cluster.domain > DEEPEP_DOMAIN:
        yield f"{said} joins {DEEPEP_DOMAIN} GPUs by NVLink, not {job.cluster.domain}"
    if name == "deepep" and fixed_capacity(job):
        # core/transformer/transformer_config.py:1600
        yield f"{said} does not pad experts to their capacity"


def fixed_capacity(job: Job) -> bool:
    """Whether experts have a fixed number of tokens."""
    return "--moe-pad-expert-input-to-capacity" in asked(options_of(job))
