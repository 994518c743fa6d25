"""Rules of torchtitan for stages, for the order of their passes, and for parts of sequences."""

from __future__ import annotations

from ...compiler.algebra import Column, Mask
from ...compiler.pipeline.schedule import DIVIDED, DUAL, GPIPE, ZBV
from ...compiler.plan import PASSES
from ...compiler.target import Effect, Predicate
from ...dsl.arrays import at_least, choose
from ...dsl.job import Job
from .models import family
from .releases import RELEASES, release, since

PACKAGE = "torchtitan 0.2.2"
TORCH = "torch 2.13.0"


def divided_in_some(job: Job) -> bool:
    """Whether any release divides the job's model along sequences."""
    return any(family(job) in each.divided for each in RELEASES.values())


def rounds_even(job: Job, pp: Column, vpp: Column, microbatches: Column, order: Column) -> Column:
    rounds: Column = at_least(microbatches // pp, 1)
    return (vpp == 1) | (order == ZBV) | (order == DUAL) | (microbatches % rounds == 0)


#: What an order of passes wants, in words.
ORDER_WANTS = {
    "gpipe": "one stage per rank",
    "interleaved_zb": "two or more stages per rank, and a micro-batch for each rank,",
    "zbv": "two stages per rank, and a micro-batch for all stages but one,",
    "dualpipev": "two stages per rank, and a micro-batch for each stage,",
}


def suits_order(job: Job, pp: Column, vpp: Column, microbatches: Column, order: Column) -> Column:
    divided = (vpp > 1) & (microbatches >= pp)
    turned = (vpp == 2) & (microbatches >= 2 * pp - 1)
    dual = (vpp == 2) & (microbatches >= 2 * pp)
    others = choose(order == ZBV, turned, choose(order == DUAL, dual, divided))
    suits: Mask | bool = choose(order == GPIPE, vpp == 1, others)
    return (order == 0) | ((pp > 1) & suits)


#: CPU seconds in which each process lists the passes of a pipeline of two stages a rank, by the rank and the
#: square of its micro-batches: PyTorch looks for a third stage through all passes that follow each
#: (_add_unshard_reshard, max_active_stages). Measured with torch 2.13's classes, 4 and 8 ranks, 256 to 1,024
#: micro-batches: of 1,024, 1F1B 7.0 s on 8, ZBV 8.9 on 4, DualPipeV 3.6 on 4. InterleavedZeroBubble was not
#: measured, and has as many passes as ZBV.
LISTED_SECONDS = {"1f1b": 8.4e-7, "interleaved_zb": 2.1e-6, "zbv": 2.1e-6, "dualpipev": 8.6e-7}
#: Seconds of listing at each start, and each start again, above which parc takes another layout.
MOST_LISTED_SECONDS = 60


def listed_seconds(pp: Column, vpp: Column, microbatches: Column, order: Column) -> Column:
    """Seconds before the first step in which PyTorch lists the passes; 0 where that grows in proportion."""
    share: Column = 0.0 * order
    for name, seconds in LISTED_SECONDS.items():
        share = choose(order == PASSES.index(name), seconds, share)
    found: Column = choose((pp > 1) & (vpp == 2), share * pp * (1.0 * microbatches) ** 2, 0.0)
    return found


def whole_passes(order: Column) -> Column:
    return (order != DIVIDED) & (order != ZBV) & (order != DUAL)


PIPELINE = (
    Predicate(
        "PAR342",
        "pipeline-model",
        "pp above 1 for a model that torchtitan does not pipeline",
        ("pp",),
        lambda job, pp: (pp == 1) | (family(job) in release(job).pipelined),
        lambda job, pp: f"pp {pp} is not possible: torchtitan's {family(job)} has no pipelining",
        f"{PACKAGE} models/qwen3/__init__.py:199, train.py:222",
    ),
    Predicate(
        "PAR388",
        "context-model",
        "cp above 1 for a model that torchtitan does not divide along sequences",
        ("cp",),
        lambda job, cp: (cp == 1) | divided_in_some(job),
        lambda job, cp: (
            f"cp {cp} is not possible: torchtitan's {family(job)} has no context parallelism"
        ),
        f"{PACKAGE} models/gpt_oss/model/args.py:89",
    ),
    Predicate(
        "PAR458",
        "context-angles",
        "cp above 1 for a model whose angles the release does not divide",
        ("cp",),
        lambda job, cp: (
            (cp == 1) | (family(job) in release(job).divided) | (not divided_in_some(job))
        ),
        lambda job, cp: (
            f"cp {cp} is not possible: torchtitan {release(job).name} does not divide the angles of "
            f"{family(job)}; {since(lambda each: family(job) in each.divided, 'does')}"
        ),
        "torchtitan 0.2.0 train.py:440; 0.2.1 train.py:488",
        stricter="0.2.0 fails in its first step; 0.2.1 trains, and each rank counts positions from 0",
        cure='version = "0.2.2" in the target',
    ),
    Predicate(
        "PAR349",
        "tied-pipeline",
        "tied embeddings with pp above 1",
        ("pp",),
        lambda job, pp: (pp == 1) | (not job.model.tied) | release(job).tied_stages,
        lambda job, pp: f"tied embeddings with pp {pp}: the first and the last stage would share them",
        "torchtitan 0.3.0 models/common/decoder.py:141, `Weight tying is not supported`",
    ),
    Predicate(
        "PAR204",
        "few-microbatches",
        "fewer micro-batches than pipeline stages",
        ("pp", "vpp", "microbatches", "order"),
        lambda job, pp, vpp, microbatches, order: (vpp > 1) | (microbatches >= pp) | (order != 0),
        lambda job, pp, vpp, microbatches, order: (
            f"1F1B over pp {pp} needs {pp} micro-batches, not {microbatches}"
        ),
        f"{TORCH} distributed/pipelining/schedules.py:1022",
    ),
    Predicate(
        "PAR182",
        "schedule-stages",
        "an order of passes for another number of stages per rank or of micro-batches",
        ("pp", "vpp", "microbatches", "order"),
        suits_order,
        lambda job, pp, vpp, microbatches, order: (
            f"order {PASSES[order]} needs {ORDER_WANTS[PASSES[order]]} "
            f"in a pipeline, not pp {pp} with vpp {vpp} and {microbatches} micro-batches"
        ),
        f"{PACKAGE} distributed/pipeline_parallel.py:98, :106; {TORCH} distributed/pipelining/schedules.py, "
        "ScheduleGPipe, ScheduleInterleavedZeroBubble, ScheduleZBVZeroBubble, "
        "ScheduleDualPipeV",
        stricter="without a pipeline a schedule has no effect; with fewer micro-batches than ranks the "
        "backward passes that are divided fill no bubble",
        cure="leave `schedule` out of the target",
    ),
    Predicate(
        "PAR398",
        "listed-passes",
        "passes of two stages a rank that PyTorch lists for minutes at each start",
        ("pp", "vpp", "microbatches", "order"),
        lambda job, pp, vpp, microbatches, order: (
            listed_seconds(pp, vpp, microbatches, order) <= MOST_LISTED_SECONDS
        ),
        lambda job, pp, vpp, microbatches, order: (
            f"{microbatches:,} micro-batches over pp {pp} with vpp 2 in the order {PASSES[order]}: "
            "PyTorch lists their passes for "
            f"{float(listed_seconds(pp, vpp, microbatches, order)):,.0f} s at each start, above "
            f"{MOST_LISTED_SECONDS}"
        ),
        f"{TORCH} distributed/pipelining/schedules.py:1285, _add_unshard_reshard",
        stricter="it trains, after as long as that",
        cure="more micro_batch or dp, another vpp, or leave `schedule` out of the target",
        effect=Effect.ACCEPTS,
    ),
    Predicate(
        "PAR183",
        "schedule-selective",
        "selective recomputation under a schedule that divides backward passes",
        ("recompute", "order"),
        lambda job, recompute, order: (recompute != 1) | whole_passes(order),
        lambda job, recompute, order: (
            f"order {PASSES[order]} runs two backward passes through each block, and selective "
            f"recomputation (recompute {recompute}) allows one"
        ),
        f"{TORCH} utils/checkpoint.py:1458, `Trying to backward an extra time`",
        stricter="the trainer is made, and its first backward pass fails",
        cure="leave `schedule` out of the target",
    ),
    Predicate(
        "PAR203",
        "vpp-microbatches",
        "interleaving has too few or uneven micro-batches",
        ("pp", "vpp", "microbatches", "order"),
        rounds_even,
        lambda job, pp, vpp, microbatches, order: (
            f"interleaving (vpp {vpp}) deals {microbatches} micro-batches in {microbatches // pp} rounds "
            f"over pp {pp}, which do not divide them"
        ),
        f"{TORCH} distributed/pipelining/schedules.py:2937",
    ),
)
