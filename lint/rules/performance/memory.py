"""The layout is predicted to need more memory than a GPU has, or than the job's goal leaves. Judged with
`--spec`, or with `--cluster` where the files say the whole model or name it.

Why:
The job runs out of memory at start, or, with fp16, at its first unskipped step. The help names the one
change that fits and costs the least time.

Bad:
--- job.par
model small from std.llama2_7b {}
cluster node from std.dgx_h200 { nodes = 1 }
train { seq_len = 4096; global_batch = 64; steps = 1000 }
target megatron {}
--- train.sh
export CUDA_DEVICE_MAX_CONNECTIONS=1
torchrun --nproc-per-node 8 pretrain_gpt.py --num-layers 32 --hidden-size 4096 --num-attention-heads 32 \\
    --ffn-hidden-size 11008 --swiglu --max-position-embeddings 4096 --seq-length 4096 \\
    --global-batch-size 64 --micro-batch-size 8 --bf16 --overlap-grad-reduce

Good:
--- train.sh
export CUDA_DEVICE_MAX_CONNECTIONS=1
torchrun --nproc-per-node 8 pretrain_gpt.py --num-layers 32 --hidden-size 4096 --num-attention-heads 32 \\
    --ffn-hidden-size 11008 --swiglu --max-position-embeddings 4096 --seq-length 4096 \\
    --global-batch-size 64 --micro-batch-size 1 --bf16 \\
    --use-distributed-optimizer --overlap-grad-reduce --overlap-param-gather
"""

from collections.abc import Iterator

from ....compiler.case import Case
from ....dsl.job import Job
from ...facts.launched_job import LaunchedJob
from ...finding import Complaint, Place, Related, Skipped
from ...priced import (
    Priced,
    best_plan,
    cheapest_fit,
    job_of,
    price,
    same_layout,
    target_of,
    tuning_of,
    unpriced,
)

CODE = "PAR511"
TITLE = "the layout, or every layout of the job, does not fit into memory"
SEVERITY = "warning"
SOURCE = "parc: docs/cost-model/memory.md; NVIDIA/Megatron-LM#637"
TRAINING = True
PRICED = "memory"


GIB = 2**30
#: Degrees that Hugging Face's models do not have in a trainer.
DEGREES = ("tp", "pp", "cp")


def check(launch: LaunchedJob) -> Iterator[Complaint | Skipped]:
    if not launch.is_priced:
        return
    job, target = job_of(launch), target_of(launch)
    found = price(launch)
    if found is None or job is None or target is None:
        yield Skipped(why=unpriced(launch))
        return
    if _planned(launch, found):
        return
    estimate = found.estimate
    tuned = tuning_of(launch)
    if estimate.memory_bytes <= estimate.ceiling_bytes:
        if tuned is not None and tuned.open:
            yield Skipped(why=tuned.open)
        return
    parts = sorted(estimate.fullest.memory.items(), key=lambda part: -part[1])[:3]
    most = ", ".join(f"{name} {size / GIB:.1f}" for name, size in parts)
    needed, given = estimate.memory_bytes / GIB, estimate.ceiling_bytes / GIB
    least = "at least " if tuned is not None and tuned.open else ""
    message = f"predicted {least}{needed:.1f} of {given:.1f} GiB on the fullest GPU: {most}"
    fixed = () if tuned is None else DEGREES if launch.framework else (*DEGREES, "offload")
    fit = cheapest_fit(Case(job, target), found.layout, fixed)
    help_text = "no single change fits: more GPUs, or several changes"
    if fit is not None:
        words, changed = fit
        slower = changed.estimate.step_seconds / estimate.step_seconds - 1
        memory = changed.estimate.memory_bytes / GIB
        words = words if launch.framework else words.replace("zero 3", "full_shard")
        help_text = f"{words} fits with {memory:.1f} GiB, {slower:+.0%} step time"
    related = tuple(
        Related(f"{name} {launch.number(name)}", launch.facts[name])
        for name in ("tp", "pp")
        if name in launch.facts
    )
    named = tuned.named if tuned is not None else None
    if tuned is not None and named is not None:
        related += (Related(_assumed(job, named.source, tuned.open), named.at),)
    at = launch.facts.get("micro_batch") or (named.at if named else None)
    yield Complaint(message, at or Place(launch.path, 1), related, help_text)


def _assumed(job: Job, model: str, unsaid: str) -> str:
    """The training whose memory is predicted."""
    gpus = job.cluster.gpus_per_node * job.cluster.nodes[0]
    length = f"the shortest samples, since {unsaid}"
    if not unsaid:
        length = f"samples of {job.train.seq_len:,} tokens"
    return f"all weights of {model} train on {gpus} GPUs, with {length}"


def _planned(launch: LaunchedJob, found: Priced) -> bool:
    """Whether the layout is the plan's own, whose stages are placed better than an even split."""
    if launch.generated:
        return True
    plan = best_plan(launch)
    return plan is not None and same_layout(found.layout, plan.estimate)
