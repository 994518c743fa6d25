"""The variables that `launch.sh` sets for PyTorch, NCCL and DeepSpeed."""

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


def threads(count: int) -> Variable:
    """Threads of one process; DeepSpeed's Adam for offloaded states runs on them."""
    return Variable(
        "OMP_NUM_THREADS", str(count), "Threads of each process, which share the cores of the node."
    )
