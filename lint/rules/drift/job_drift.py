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

from ....dsl.job import Job
from ....reading.facts import Value
from ...facts.launched_job import LaunchedJob
from ...finding import Complaint, Related

CODE = "PAR161"
TITLE = "a launch file differs from its job"
SEVERITY = "error"
SOURCE = "parc: the job file is the source of its launch files"


#: Fact -> the block of the job that states it under the same name.
STATED = {
    **dict.fromkeys(("layers", "hidden", "heads", "kv_heads", "experts"), "model"),
    **dict.fromkeys(("seq_len", "global_batch", "precision"), "train"),
    **dict.fromkeys(("gpus_per_node", "nodes"), "cluster"),
}


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    if launch.job is None:
        return
    for name, block in STATED.items():
        value, wanted = launch.value(name), _wanted(launch.job, block, name)
        if value is None or value in wanted:
            continue
        asked = " or ".join(str(each) for each in wanted)
        span = launch.job.span(block, name)
        related = (Related(f"{block}.{name} {asked}", span),) if span else ()
        message = f"{name} {value}, and the job says {asked}"
        yield Complaint(message, launch.facts[name], related, "change the file or the job")


def _wanted(job: Job, block: str, name: str) -> tuple[Value, ...]:
    """The values that the job allows."""
    if name == "kv_heads":
        return (job.model.heads if job.model.mla else job.model.groups,)
    value = getattr(getattr(job, block), name)
    return value if name == "nodes" else (value,)
