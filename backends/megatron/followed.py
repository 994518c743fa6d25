"""A stage's plan -> what a layout needs so that Megatron-LM loads its checkpoint into the next stage."""

from collections.abc import Iterator

from ...compiler.plan import Plan
from ...dsl.job import Job
from ..following import Need
from .emit.training import reshardable

#: Degrees by which the optimizer's buffers are divided (core/optimizer/distrib_optimizer.py:1537).
_BUFFERS = ("tp", "pp", "vpp", "ep", "etp")


def needs(previous: Plan, job: Job) -> tuple[Need, ...]:
    """torch_dist is loaded across tp, pp, ep and dp (checkpointing.py, load_checkpoint with `finetune`);
    Megatron-FSDP reads and writes fsdp_dtensor alone, which no other layout reads."""
    if previous.layout.zero >= 2:
        return (Need("zero", ">=", 2, "fsdp_dtensor, which Megatron-FSDP alone reads"),)
    if job.train.carry == "all":
        return tuple(_moments(previous))
    return (Need("zero", "<=", 1, "torch_dist, which Megatron-FSDP does not read"),)


def _moments(previous: Plan) -> Iterator[Need]:
    """As backends/megatron/resume.py says of a run that goes on."""
    zero = previous.layout.zero
    yield Need("zero", "==", zero, "states that the other optimizer names differently")
    if zero and not reshardable(previous):
        for name in _BUFFERS:
            why = "buffers of ranks, where an elastic job saves the moments by weight"
            yield Need(name, "==", getattr(previous.layout, name), why)
