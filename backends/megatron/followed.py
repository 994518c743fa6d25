"""A stage's plan -> what a layout needs so that Megatron-LM loads its weights into the next stage."""

from ...compiler.plan import Plan
from ..following import Need


def needs(previous: Plan) -> tuple[Need, ...]:
    """torch_dist is loaded across tp, pp, ep and dp (checkpointing.py, load_checkpoint with `finetune`);
    Megatron-FSDP reads and writes fsdp_dtensor alone, which no other layout reads."""
    if previous.layout.zero >= 2:
        return (Need("zero", ">=", 2, "fsdp_dtensor, which Megatron-FSDP alone reads"),)
    return (Need("zero", "<=", 1, "torch_dist, which Megatron-FSDP does not read"),)
