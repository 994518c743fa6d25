"""A launch file and the job that it should run name different sizes: model, sequence, batch, precision,
nodes. Judged with `--spec` alone.

Why:
Somebody changed one and not the other. The files train something else than was planned and priced.

Bad:
--- job.par
model small from std.llama2_7b {}
cluster node from std.dgx_h200 { nodes = 1 }
train { seq_len = 4096; global_batch = 64; steps = 1000 }
target megatron {}
--- train.sh
export CUDA_DEVICE_MAX_CONNECTIONS=1
torchrun --nproc-per-node 8 pretrain_gpt.py --num-layers 31 --hidden-size 4096 --num-attention-heads 32 \\
    --ffn-hidden-size 11008 --swiglu --max-position-embeddings 4096 --seq-length 4096 \\
    --global-batch-size 64 --micro-batch-size 1 --bf16 \\
    --use-distributed-optimizer --overlap-grad-reduce --overlap-param-gather

Good:
--- train.sh
export CUDA_DEVICE_MAX_CONNECTIONS=1
torchrun --nproc-per-node 8 pretrain_gpt.py --num-layers 32 --hidden-size 4096 --num-attention-heads 32 \\
    --ffn-hidden-size 11008 --swiglu --max-position-embeddings 4096 --seq-length 4096 \\
    --global-batch-size 64 --micro-batch-size 1 --bf16 \\
    --use-distributed-optimizer --overlap-grad-reduce --overlap-param-gather
"""

from collections.abc import Iterator

from ...facts.launched_job import LaunchedJob
from ...facts.stated import STATED, differing
from ...finding import Complaint, Related

CODE = "PAR161"
TITLE = "a launch file differs from its job"
SEVERITY = "error"
SOURCE = "parc: the job file is the source of its launch files"
OF_JOB = True


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    if launch.job is None:
        return
    for name, value, wanted in differing(launch, launch.job):
        block = STATED[name]
        asked = " or ".join(str(each) for each in wanted)
        span = launch.job.span(block, name)
        related = (Related(f"{block}.{name} {asked}", span),) if span else ()
        message = f"{name} {value}, and the job has {asked}"
        yield Complaint(message, launch.facts[name], related, "change the file or the job")
