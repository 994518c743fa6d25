"""Another layout of the job would train faster. Judged with `--spec` alone; the plan is solved.



Why:
The difference is paid for on every step. The message names both layouts and what the change is worth.

Bad:
torchrun --nproc-per-node 8 pretrain_gpt.py --num-layers 32 --hidden-size 4096 \\
    --num-attention-heads 32 --tensor-model-parallel-size 8

Good:
torchrun --nproc-per-node 8 pretrain_gpt.py --num-layers 32 --hidden-size 4096 --num-attention-heads 32
"""

from __future__ import annotations

from collections.abc import Iterator

from ..finding import Complaint
from ..launch import Launch
from ..priced import best_plan, price, same_layout, target_of, words_of

CODE = "PAR702"
NAME = "slow-layout"
TITLE = "another layout would train faster"
SEVERITY = "info"
SOURCE = "parc: docs/cost-model.md"


#: Less than this is within what a prediction can tell apart.
LEAST = 1.03


def check(launch: Launch) -> Iterator[Complaint]:
    job, target = launch.job, target_of(launch)
    if job is None or target is None or all(spec.name != target.name for spec in job.targets):
        return
    found, plan = price(launch), best_plan(job, target)
    if found is None or plan is None or same_layout(found.layout, plan.estimate):
        return
    times = found.estimate.step_seconds / plan.estimate.step_seconds
    if times < LEAST:
        return
    message = (
        f"this layout: {found.estimate.mfu:.1%} MFU; {words_of(plan.estimate)}: "
        f"{plan.estimate.mfu:.1%}, {times:.2f}x faster"
    )
    place = launch.facts.get("tp") or launch.facts["mbs"]
    yield Complaint(message, place, help="parc compile writes its files")
