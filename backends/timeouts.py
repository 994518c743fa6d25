"""`Plan` -> how long a rank waits for the others in a collective before it ends the job."""

import math

from ..compiler.plan import Plan

#: Until the first step ends: one rank builds the index of the data while the others wait, checkpoints are
#: read, kernels compiled. Megatron-LM's own scripts for Llama 3 8B and DeepSeek-V3 give an hour.
FIRST_SECONDS = 3600.0
#: Afterwards, at least: PyTorch's own limit of NCCL's collectives (ProcessGroupNCCL.hpp of 2.13).
LATER_SECONDS = 600.0


def first_seconds(plan: Plan) -> float:
    """Until the first step ends: the job's, else an hour."""
    given = plan.job.train.collective_timeout
    return FIRST_SECONDS if given is None else given


def later_seconds(plan: Plan) -> float:
    """Afterwards: the job's, else ten minutes, or twice a step with the writing of a checkpoint where that is
    longer, in whole minutes. PyTorch counts from when the host asks for a collective, up to a step before the
    GPU does, and ranks that wrote their part of a checkpoint wait for the last one."""
    given = plan.job.train.collective_timeout
    if given is not None:
        return given
    longest = 2 * (plan.estimate.step_seconds + (plan.estimate.checkpoint.write_seconds or 0.0))
    return max(LATER_SECONDS, 60.0 * math.ceil(longest / 60))
