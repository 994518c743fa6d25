"""`Plan` -> the variables that launch.sh sets for PyTorch and Weights & Biases."""

from collections.abc import Iterator

from ....compiler.plan import Plan
from ...environment import Variable
from ...fabric import fabric
from ...observation import curves
from ..options import options_of

#: run_train.sh of torchtitan sets it; PyTorch reads it for CUDA and ROCm.
SEGMENTS = Variable(
    "PYTORCH_ALLOC_CONF",
    "expandable_segments:True",
    "Memory that PyTorch freed grows in place instead of falling into pieces that fit nothing.",
    synonyms=("PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_HIP_ALLOC_CONF"),
)


def variables(plan: Plan) -> Iterator[Variable]:
    yield SEGMENTS
    yield from fabric(plan)
    _, project = curves(plan.job, options_of(plan.job))
    if project is not None:
        # components/metrics.py, WandBLogger.
        yield Variable("WANDB_PROJECT", project, "Where Weights & Biases keeps the run.")
