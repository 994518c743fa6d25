"""Another layout of the job would train faster. Judged with `--spec` alone; the plan is solved.

Why:
The difference is paid for on every step. The message names both layouts and what the change is worth.

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

from ...facts.launched_job import LaunchedJob
from ...finding import Complaint, Skipped
from ...priced import best_plan, price, same_layout, unplanned, unpriced, words_of

CODE = "PAR702"
TITLE = "another layout would train faster"
SEVERITY = "info"
SOURCE = "parc: docs/cost-model/time.md"
TRAINING = True
PRICED = "speed"


#: Less than this is within what a prediction can tell apart.
LEAST = 1.03


def check(launch: LaunchedJob) -> Iterator[Complaint | Skipped]:
    if launch.job is None:
        return
    plan = best_plan(launch)
    found = price(launch) if plan is not None else None
    if found is None or plan is None:
        yield Skipped(why=unplanned(launch) if plan is None else unpriced(launch))
        return
    if same_layout(found.layout, plan.estimate):
        return
    times = found.estimate.step_seconds / plan.estimate.step_seconds
    if times < LEAST:
        return
    message = (
        f"this layout: {found.estimate.mfu:.1%} MFU; {words_of(plan.estimate)}: "
        f"{plan.estimate.mfu:.1%}, {times:.2f}x faster"
    )
    place = launch.facts.get("tp") or launch.facts["micro_batch"]
    yield Complaint(message, place, help="parc compile writes its files")
