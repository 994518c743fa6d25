"""A launch file's layout is not the one that parc plans for the job. Judged with `--spec` alone; the plan
is solved.



Why:
The files are older than the job, or were changed by hand.

Bad:
torchrun --nproc-per-node 8 pretrain_gpt.py --num-layers 32 --hidden-size 4096 \\
    --num-attention-heads 32 --tensor-model-parallel-size 8

Good:
torchrun --nproc-per-node 8 pretrain_gpt.py --num-layers 32 --hidden-size 4096 --num-attention-heads 32
"""

from __future__ import annotations

from collections.abc import Iterator

from ...backends import BACKENDS
from ..finding import Complaint, Related
from ..launch import Launch
from ..priced import best_plan, target_of, words_of
from .job_drift import SAID

CODE = "PAR162"
NAME = "plan-drift"
TITLE = "a layout differs from the job's plan"
SEVERITY = "warning"
SOURCE = "parc: `parc plan` of the job"


def check(launch: Launch) -> Iterator[Complaint]:
    job, target = launch.job, target_of(launch)
    if job is None or target is None or all(spec.name != target.name for spec in job.targets):
        return
    plan = best_plan(job, target)
    if plan is None:
        return
    place = job.span("goal") or job.span("train")
    for name, wanted in BACKENDS[target.name].facts(plan).items():
        value = launch.value(name)
        if name in SAID or value is None or value == wanted:
            continue
        related = (Related(f"the plan: {words_of(plan.estimate)}", place),) if place else ()
        message = f"{name} {value}, and the plan has {wanted}"
        yield Complaint(
            message, launch.facts[name], related, "parc compile writes the plan's files"
        )
