"""The variables that `launch.sh` sets for PyTorch and NCCL."""

from ..environment import RECORDER, Variable

VARIABLES = (
    Variable(
        "PYTORCH_CUDA_ALLOC_CONF",
        "expandable_segments:True",
        "Memory that PyTorch freed grows in place instead of falling into pieces that fit nothing.",
        synonyms=("PYTORCH_ALLOC_CONF",),
    ),
    *RECORDER,
)
