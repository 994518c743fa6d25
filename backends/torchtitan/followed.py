"""A stage's plan -> what a layout needs so that torchtitan loads its checkpoint into the next stage."""

from ...compiler.plan import Plan
from ...dsl.job import Job
from ..following import Need


def needs(previous: Plan, job: Job) -> tuple[Need, ...]:
    """Weights and moments have their names in every layout; the data loader has a state for each
    data-parallel rank (components/dataloader.py:136)."""
    if job.train.carry == "weights":
        return ()
    why = "a position in the data for each data-parallel rank"
    return (Need("dp", "==", previous.layout.dp, why),)
