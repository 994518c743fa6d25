"""FP8 kernels want matrix sides in multiples of 16, MXFP8 and NVFP4 of 32: hidden size, feed-forward width
and attention width must keep them after tp has divided them.

Why:
Transformer Engine stops in the first step.

Bad:
export CUDA_DEVICE_MAX_CONNECTIONS=1
torchrun --nproc-per-node 8 pretrain_gpt.py --tensor-model-parallel-size 8 --num-layers 32 \\
    --hidden-size 4096 --num-attention-heads 32 --ffn-hidden-size 11048 --bf16 --fp8-format hybrid

Good:
export CUDA_DEVICE_MAX_CONNECTIONS=1
torchrun --nproc-per-node 8 pretrain_gpt.py --tensor-model-parallel-size 8 --num-layers 32 \\
    --hidden-size 4096 --num-attention-heads 32 --ffn-hidden-size 11008 --bf16 --fp8-format hybrid
"""

from collections.abc import Iterator

from ...compiler_predicates import enforced
from ...facts.launched_job import LaunchedJob
from ...finding import Complaint, Skipped

CODE = "PAR503"
TITLE = "tp leaves matrix sizes that fp8 kernels do not support"
SEVERITY = "error"
SOURCE = "TransformerEngine transformer_engine/pytorch/utils.py, assert_dim_for_fp8_exec"
FILE = "train.sh"


def check(launch: LaunchedJob) -> Iterator[Complaint | Skipped]:
    yield from enforced(CODE, launch, vary="tp")
