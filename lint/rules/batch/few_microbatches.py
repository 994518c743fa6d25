"""A pipeline of pp stages is full only with at least pp micro-batches in a step.

Why:
With fewer, stages stand idle for most of the step. torchtitan's 1F1B schedule refuses it. Of a run of a few
steps, which measures and trains nothing, it is a hint.

Bad:
torchrun --nproc-per-node 8 pretrain_gpt.py --pipeline-model-parallel-size 8 --num-layers 32 \\
    --micro-batch-size 4 --global-batch-size 16

Good:
torchrun --nproc-per-node 8 pretrain_gpt.py --pipeline-model-parallel-size 8 --num-layers 32 \\
    --micro-batch-size 1 --global-batch-size 128
"""

from collections.abc import Iterator

from ....backends.reader import Missing
from ....backends.torchtitan.option_rows import LOCAL_BATCH, PIPELINE_MICRO_BATCH
from ....dsl.diagnostics import Severity
from ....reading.facts import number_of
from ...compiler_predicates import places
from ...facts.known import Known
from ...facts.launched_job import LaunchedJob
from ...finding import Complaint, Skipped

CODE = "PAR204"
TITLE = "fewer micro-batches than pipeline stages"
SEVERITY = "warning"
SOURCE = (
    "arXiv 2104.04473, 2.2; torch 2.13.0 distributed/pipelining/schedules.py:1022; "
    "pytorch/torchtitan#775"
)
TRAINING = True

#: A schedule of learning rates or an average of losses needs more.
_FEW_STEPS = 20


def check(launch: LaunchedJob) -> Iterator[Complaint | Skipped]:
    known = Known(launch)
    try:
        pp, microbatches = known.column("pp"), _microbatches(known)
    except Missing as missing:
        if missing.unknown and (launch.number("pp") or 1) > 1:
            yield Skipped(frozenset({missing.name}))
        return
    vpp = launch.number("vpp") or 1
    if (
        pp <= 1
        or microbatches >= pp
        or launch.generated
        or (vpp > 1 and launch.framework == "megatron")
    ):
        return
    idle = (pp - 1) / vpp
    share = idle / (microbatches + idle)
    message = (
        f"{microbatches} micro-batches over pp {pp}: the pipeline is idle for {share:.0%} of a step"
    )
    at, related = places(known)
    refused = vpp == 1 and (launch.framework == "torchtitan" or _asserts(launch, pp, microbatches))
    help_text = (
        f"at least {pp} micro-batches, better {4 * pp}: a smaller micro-batch or a larger batch"
    )
    mild: Severity | None = "info" if _measures(launch) else None
    yield Complaint(message, at, related, help_text, "error" if refused else mild)


def _measures(launch: LaunchedJob) -> bool:
    """Whether so few steps are taken that only their speed can be meant."""
    steps = number_of(launch.option("--train-iters"))
    return steps is not None and steps <= _FEW_STEPS


def _asserts(launch: LaunchedJob, pp: int, microbatches: int) -> bool:
    """Whether the program asserts more in this order of the passes."""
    fewer = launch.program.unfilled.get(str(launch.value("order"))) if launch.program else None
    return fewer is not None and microbatches < pp - fewer


def _microbatches(known: Known) -> int:
    """torchtitan's pipeline sees the local batch alone; others the whole share of the global batch."""
    if known.launch.framework == "torchtitan":
        local = known.launch.setting("toml", *LOCAL_BATCH)
        given = known.launch.setting("toml", PIPELINE_MICRO_BATCH)
        size, micro = number_of(local), number_of(given) if given else 1
        if local is None or not size or not micro or size % micro:
            raise Missing("microbatches")
        known.saw("local batch", size, local)
        return size // micro
    if "microbatches" in known.launch.facts:
        return known.number("microbatches")
    return known.column("microbatches")
