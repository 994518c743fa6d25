"""A launch file's layout is not the one that parc plans for the job. Judged with `--spec` alone; the plan
is solved.

Why:
The files are older than the job, or were changed by hand.

Bad:
--- job.par
model small from std.llama2_7b {}
cluster node from std.dgx_h200 { nodes = 1 }
train { seq_len = 4096; global_batch = 64; steps = 1000 }
goal { maximize mfu; require zero == 1; require micro_batch == 1 }
target megatron {}
--- train.sh
export CUDA_DEVICE_MAX_CONNECTIONS=1
torchrun --nproc-per-node 8 pretrain_gpt.py --num-layers 32 --hidden-size 4096 --num-attention-heads 32 \\
    --ffn-hidden-size 11008 --swiglu --max-position-embeddings 4096 --seq-length 4096 \\
    --global-batch-size 64 --micro-batch-size 1 --bf16 \\
    --tensor-model-parallel-size 8 --sequence-parallel --use-distributed-optimizer

Good:
--- train.sh
export CUDA_DEVICE_MAX_CONNECTIONS=1
torchrun --nproc-per-node 8 pretrain_gpt.py --num-layers 32 --hidden-size 4096 --num-attention-heads 32 \\
    --ffn-hidden-size 11008 --swiglu --max-position-embeddings 4096 --seq-length 4096 \\
    --global-batch-size 64 --micro-batch-size 1 --bf16 \\
    --use-distributed-optimizer --overlap-grad-reduce --overlap-param-gather
"""

from collections.abc import Iterator

from ....backends import BACKENDS
from ...facts.launched_job import LaunchedJob
from ...facts.stated import STATED
from ...finding import Complaint, Related, Skipped
from ...priced import best_plan, unplanned, words_of

CODE = "PAR162"
TITLE = "a layout differs from the job's plan"
SEVERITY = "warning"
SOURCE = "parc: `parc plan` of the job"
OF_JOB = True
PRICED = "plan drift"


def check(launch: LaunchedJob) -> Iterator[Complaint | Skipped]:
    plan = best_plan(launch)
    if plan is None:
        if launch.job is not None:
            yield Skipped(why=unplanned(launch))
        return
    place = plan.job.span("goal") or plan.job.span("train")
    for name, wanted in BACKENDS[plan.target].facts(plan).items():
        value = launch.value(name)
        if name in STATED or value is None or value == wanted:
            continue
        related = (Related(f"the plan: {words_of(plan.estimate)}", place),) if place else ()
        message = f"{name} {value}, and the plan has {wanted}"
        yield Complaint(
            message, launch.facts[name], related, "parc compile writes the plan's files"
        )
