"""A launch file and the job that it should run differ in kernels or traffic: overlap, dtype of gradients,
attention. Judged with `--spec` alone.

Why:
The job was planned and priced with the one, and trains with the other: slower, or with other memory.

Bad:
--- job.par
model small from std.llama2_7b {}
cluster node from std.dgx_h100 { nodes = 1 }
train { seq_len = 4096; global_batch = 64; steps = 1000 }
target megatron { grad_dtype = bf16 }
--- train.sh
export CUDA_DEVICE_MAX_CONNECTIONS=1
torchrun --nproc-per-node 8 pretrain_gpt.py --num-layers 32 --hidden-size 4096 --num-attention-heads 32 \\
    --ffn-hidden-size 11008 --swiglu --max-position-embeddings 4096 --seq-length 4096 \\
    --global-batch-size 64 --micro-batch-size 1 --bf16 \\
    --use-distributed-optimizer --overlap-grad-reduce --overlap-param-gather

Good:
--- train.sh
export CUDA_DEVICE_MAX_CONNECTIONS=1
torchrun --nproc-per-node 8 pretrain_gpt.py --num-layers 32 --hidden-size 4096 --num-attention-heads 32 \\
    --ffn-hidden-size 11008 --swiglu --max-position-embeddings 4096 --seq-length 4096 \\
    --global-batch-size 64 --micro-batch-size 1 --bf16 --grad-reduce-in-bf16 \\
    --use-distributed-optimizer --overlap-grad-reduce --overlap-param-gather
"""

from collections.abc import Iterator

from ....reading.facts import Value
from ...facts.launched_job import LaunchedJob
from ...facts.stack import stack_drifts
from ...finding import Complaint, Related

CODE = "PAR163"
TITLE = "a launch file runs other kernels or traffic than its job"
SEVERITY = "warning"
SOURCE = "parc: docs/backends.md, the stack"
OF_JOB = True


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    if launch.job is None:
        return
    for drift in stack_drifts(launch, launch.job):
        found, wanted = _word(drift.found), _word(drift.wanted)
        related = (Related(f"{drift.setting} {wanted}", drift.span),) if drift.span else ()
        message = f"{drift.setting} {found}, and the job has {wanted}"
        yield Complaint(message, drift.at, related, "change the file or the job")


def _word(value: Value | None) -> str:
    if value is None:
        return "of the framework's choice"
    return str(value).lower() if isinstance(value, bool) else str(value)
